package trial

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/system/perf"
)

// drainEvery is how long samples gather in the kernel. Its buffers hold those of
// about a second; looking rarely costs the program least.
const drainEvery = 32 * beat

// A profiler samples where the CPU time of a program and its descendants
// goes, from its first instruction on.
type profiler struct {
	session   *perf.Session
	collector *profile.Collector
	handler   *perf.Handler
	alarm     *alarm // rung: the program has ended
	done      chan struct{}
	err       error

	series *Series // told of page faults; nil: not to be kept

	// members are the program and its descendants, nil for all processes: then
	// nothing else is started by folio, as a load generator would be.
	members map[int]bool
	// since and until bound the samples that count; 0 for no bound. The clock is
	// that of the samples, CLOCK_MONOTONIC.
	since, until atomic.Uint64
}

// newProfiler makes the profiler of the program that thread tid becomes, or starts:
// see [spawn.Process.Thread]. The events begin to count with the exec.
func newProfiler(rate, tid int) (*profiler, error) {
	p := &profiler{done: make(chan struct{})}
	var err error
	if p.alarm, err = newAlarm(); err != nil {
		return nil, err
	}
	if p.session, err = perf.OpenThread(tid, perf.Config{Frequency: rate, Faults: true}); err != nil {
		p.alarm.close()
		return nil, err
	}
	p.collector = profile.New(nil)
	p.handler = p.ours(p.collector.Handler())
	return p, nil
}

// ours passes on what is the program's. That folio forks is not reported to it,
// only what its children do from their exec on.
func (p *profiler) ours(to *perf.Handler) *perf.Handler {
	h := *to
	h.Fork = func(pid, parent int) {
		if p.members[parent] {
			p.members[pid] = true
		}
		to.Fork(pid, parent)
	}
	h.Sample = func(s *perf.Sample) {
		since, until := p.since.Load(), p.until.Load()
		if s.Time < since || until > 0 && s.Time > until {
			return
		}
		if p.isOurs(s.PID) {
			if p.series != nil && s.Kind == perf.Fault && s.Time > 0 {
				p.series.faults.add(time.Duration(s.Time-p.series.clock), float64(max(s.Period, 1)))
			}
			to.Sample(s)
		}
	}
	return &h
}

func (p *profiler) isOurs(pid int) bool { return p.members == nil || p.members[pid] }

// run takes the samples over until the program has ended.
func (p *profiler) run() {
	defer close(p.done)
	for !p.alarm.rung.Load() {
		p.alarm.wait(untilTick(drainEvery))
		if err := p.session.Drain(p.handler); err != nil && p.err == nil {
			p.err = err
		}
	}
}

// stop ends the sampling. The program has ended, so nothing more can come.
func (p *profiler) stop() {
	p.alarm.ring()
	<-p.done
	p.alarm.close()
	if err := p.session.Drain(p.handler); err != nil && p.err == nil {
		p.err = err
	}
	_ = p.session.Close()
}

// abort gives the profiler of a program up that did not start.
func (p *profiler) abort() {
	p.collector.Close()
	p.alarm.close()
	_ = p.session.Close()
}

// fill puts what was found into the sample, whose CPU time is known.
func (p *profiler) fill(out *Sample, keep Keep) {
	a := profile.AccountsOf(p.session, out.User, out.Sys)
	if p.since.Load() > 0 {
		a.Faults, a.TLBMisses = 0, nil // they are of the program's whole life
	}
	out.fillWhere(p.collector, a, keep)
	if p.series != nil {
		p.series.Faults = p.series.faults.rates(float64(a.Faults))
	}
}

// fillWhere puts into the sample where its time went. The samples themselves
// hold memory, and the program's files open, and all names take time to find: they are
// kept only on request.
func (s *Sample) fillWhere(c *profile.Collector, a profile.Accounts, keep Keep) {
	s.Profiled = true
	note := ""
	if a.Info.Kernel {
		var k *symbol.KernelTable
		k, note = kernelSymbols()
		c.SetKernelSymbols(k)
	}
	r := c.Result(a)
	if note != "" {
		r.Note(note)
	}
	s.setWhere(r)
	if keep.Stacks && r.Samples > 0 {
		s.Stacks = c.Stacks()
	}
	if keep.Samples {
		s.Collected = c
		return
	}
	c.Close()
}

// clock is the time of samples.
func clock() uint64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return uint64(time.Now().UnixNano()) // it does not fail
	}
	return uint64(t.Nano())
}

// kernelSymbols returns the names of the kernel's functions, nil if they are
// hidden, and what is to be noted. Reading them takes a while: only after a program has
// ended.
var kernelSymbols = sync.OnceValues(func() (*symbol.KernelTable, string) {
	k, note, err := symbol.CachedKernel()
	if err != nil {
		return nil, note
	}
	return k, note
})
