package perf

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Session samples processes until it is closed. Its methods may be called from
// several goroutines.
type Session struct {
	mu     sync.Mutex
	mode   mode
	faults bool
	tlb    bool
	info   Info
	cpus   []int

	events []int // file descriptors
	rings  []*ring
	ringOf map[int]*ring // by processor

	decoder
	seen  []attached // what the first drain tells before anything else
	buf   []byte     // records taken from the rings
	found []entry    // where they are in buf

	// What the kernel counted, when last asked.
	eventLost, faultCount, tlbCount uint64

	closed bool
}

// entry is a record in buf.
type entry struct {
	time     uint64
	at, size int
}

// OpenThread samples the programs that thread tid of this process starts from
// now on, and all that they start, from their exec on: nothing of them is
// missed, and nothing of this process is counted. tid 0 is the calling thread.
// The thread must be the one that forks: lock the goroutine to it.
func OpenThread(tid int, cfg Config) (*Session, error) {
	if tid == 0 {
		tid = unix.Gettid()
	}
	s, err := newSession(cfg, "sample programs to be started")
	if err != nil {
		return nil, err
	}
	if err := s.open(tid, true); err != nil {
		s.Close()
		return nil, explain("sample programs to be started", err, 0)
	}
	return s, nil
}

// newSession returns a session without events.
func newSession(cfg Config, op string) (*Session, error) {
	cfg, err := cfg.complete()
	if err != nil {
		return nil, err
	}
	m, missing, err := probe(op)
	if err != nil {
		return nil, err
	}
	s := &Session{ringOf: make(map[int]*ring)}
	if s.cpus, err = onlineCPUs(); err != nil {
		return nil, err
	}
	m.frequency = cfg.Frequency
	if most := maxFrequency(); most < m.frequency {
		missing = append(missing, fmt.Sprintf("perf_event_max_sample_rate allows %d samples per second, not %d", most, m.frequency))
		m.frequency = most
	}
	s.mode = m
	s.decoder = decoder{layout: m.layout, kinds: make(map[uint64]Kind), threads: make(map[int]map[int]bool)}
	if cfg.Faults {
		fd, err := openEvent(m.attr(Fault), 0, -1)
		if s.faults = err == nil; s.faults {
			unix.Close(fd)
		} else {
			missing = append(missing, "page faults cannot be sampled: "+why(err, 2))
		}
	}
	if m.hardware {
		// Virtual machines can have cycles, and not this.
		fd, err := openEvent(m.attr(TLBMiss), 0, -1)
		if s.tlb = err == nil; s.tlb {
			unix.Close(fd)
		} else {
			missing = append(missing, "misses of the TLB cannot be counted: "+why(err, 2))
		}
	}
	s.info = Info{
		Hardware: m.hardware, Kernel: m.kernel, Faults: s.faults,
		Frequency: m.frequency, RingBytes: cfg.RingBytes, Reason: strings.Join(missing, "; "),
	}
	return s, nil
}

// ringError is an error of mapping a ring, which has other causes and fixes
// than one of opening an event.
type ringError struct{ error }

func (e ringError) Unwrap() error { return e.error }

// open opens the events of one thread on every processor. With onExec they
// begin with an exec, else at once.
func (s *Session) open(tid int, onExec bool) error {
	first := len(s.rings) == 0
	for {
		err := s.openAll(tid, onExec)
		const least = 8 // pages: fewer would lose records all the time
		if _, ok := errors.AsType[ringError](err); !ok || !first || s.info.RingBytes <= least*os.Getpagesize() {
			return err
		}
		// Others have used up what may be locked. All rings become smaller, or
		// the first would leave nothing for the last.
		s.release()
		s.info.RingBytes /= 2
	}
}

func (s *Session) openAll(tid int, onExec bool) error {
	opened := 0
	for _, cpu := range s.cpus {
		err := s.openOn(tid, cpu, onExec)
		if err == unix.ENODEV {
			continue // the processor was turned off
		}
		if err != nil {
			return err
		}
		opened++
	}
	if opened == 0 {
		return unix.ENODEV
	}
	return nil
}

func (s *Session) openOn(tid, cpu int, onExec bool) error {
	kinds := []Kind{CPU}
	if s.faults {
		kinds = append(kinds, Fault)
	}
	if s.tlb {
		kinds = append(kinds, TLBMiss)
	}
	var fds []int
	for _, kind := range kinds {
		a := s.mode.attr(kind)
		if !s.mode.system { // there nothing inherits, and who listens knows what runs
			a.Bits |= unix.PerfBitInherit
		}
		if kind == CPU && !s.mode.system { // one event tells of processes and mappings for both
			a.Bits |= unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec | unix.PerfBitTask
		}
		if onExec {
			a.Bits |= unix.PerfBitEnableOnExec
		}
		fd, err := openEvent(a, tid, cpu)
		if err != nil {
			return err
		}
		s.events = append(s.events, fd)
		fds = append(fds, fd)
		if kind != TLBMiss {
			if err := s.direct(fd, cpu); err != nil {
				return err
			}
		}
		c, err := readEvent(fd)
		if err != nil {
			return os.NewSyscallError("read perf event", err)
		}
		s.kinds[c.id] = kind
	}
	if onExec {
		return nil
	}
	for _, fd := range fds {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return os.NewSyscallError("enable perf event", err)
		}
	}
	return nil
}

// direct lets an event write to the ring of its processor.
func (s *Session) direct(fd, cpu int) error {
	if r := s.ringOf[cpu]; r != nil {
		return os.NewSyscallError("set output of perf event", unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.fd))
	}
	r, err := mapRing(fd, s.info.RingBytes)
	if err != nil {
		return ringError{err}
	}
	s.rings, s.ringOf[cpu] = append(s.rings, r), r
	return nil
}

// release closes what the session has open.
func (s *Session) release() error {
	var errs []error
	for _, r := range s.rings {
		errs = append(errs, r.close())
	}
	for _, fd := range s.events {
		errs = append(errs, unix.Close(fd))
	}
	s.rings, s.events = nil, nil
	clear(s.ringOf)
	clear(s.kinds)
	return errors.Join(errs...)
}

// Drain tells h, in the order of time, what happened up to this call. What a
// processor was still writing then comes with the next drain, which therefore
// can begin with something a little older than the last one ended with.
func (s *Session) Drain(h *Handler) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return fmt.Errorf("drain samples: %w", os.ErrClosed)
	}
	for _, a := range s.seen {
		a.tell(h)
	}
	s.seen = nil
	if err := s.gather(); err != nil {
		return err
	}
	if len(s.found) == 0 {
		return nil
	}
	slices.SortStableFunc(s.found, func(a, b entry) int { return cmp.Compare(a.time, b.time) })
	for _, e := range s.found {
		s.decode(s.buf[e.at:e.at+e.size], h)
	}
	s.buf, s.found = s.buf[:0], s.found[:0]
	return nil
}

// gather takes from all rings what was written before this call. What is newer
// stays there: else a record of one ring could be told before an earlier one of
// a ring that was looked at before.
func (s *Session) gather() error {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return os.NewSyscallError("clock_gettime", err)
	}
	now := uint64(time.Duration(ts.Nano()))
	for _, r := range s.rings {
		start := len(s.buf)
		var ok bool
		if s.buf, ok = r.take(s.buf); !ok {
			s.corrupt++
			continue
		}
		if used := s.index(start, now); used > 0 {
			s.buf = s.buf[:start+used]
			r.release(used)
		} else {
			s.buf = s.buf[:start]
		}
	}
	return nil
}

// index finds the records from start on that are not newer than now, and
// returns how many bytes they are.
func (s *Session) index(start int, now uint64) (used int) {
	for at := start; at < len(s.buf); {
		_, t, size := split(s.buf[at:])
		if size == 0 {
			s.corrupt++
			return len(s.buf) - start // where the next begins cannot be known
		}
		if t > now {
			return at - start
		}
		s.found = append(s.found, entry{t, at, size})
		at += size
	}
	return len(s.buf) - start
}

// Info says what the session sees.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info
}

// Lost returns how many records could not be had, because the ring was full or
// the kernel took too many interrupts to be too costly. It counts what is known
// by the last drain; with Linux before 6.0 that is what was lost before the
// last record.
func (s *Session) Lost() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask()
	// A pause after too many interrupts has lost one sample at least.
	return max(s.lost, s.eventLost) + s.throttled + s.corrupt
}

// Faults returns how many page faults were taken, exactly: the samples stand
// for a few less. Where the kernel's side is hidden, both are without those
// that it takes itself, as when it reads into a buffer that is not there yet.
// It is 0 if faults are not sampled.
func (s *Session) Faults() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask()
	return s.faultCount
}

// TLBMisses returns how many loads missed the processor's cache of address
// translations; ok is false where that cannot be counted, as in most virtual
// machines. What a miss cost is not in it.
func (s *Session) TLBMisses() (n uint64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask()
	return s.tlbCount, s.tlb
}

// ask reads the counters of all events.
func (s *Session) ask() {
	if s.closed {
		return
	}
	s.eventLost, s.faultCount, s.tlbCount = 0, 0, 0
	for _, fd := range s.events {
		c, err := readEvent(fd)
		if err != nil {
			continue
		}
		s.eventLost += c.lost // 0 where the kernel does not count it
		switch s.kinds[c.id] {
		case Fault:
			s.faultCount += c.value
		case TLBMiss:
			s.tlbCount += c.value
		}
	}
}

// Close ends the sampling. What was not drained is lost. Info, Lost and
// Faults still answer.
func (s *Session) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.ask()
	s.closed = true
	return s.release()
}
