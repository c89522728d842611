package goruntime

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/procmem"
)

// GCSettings are the settings of the GC of a process.
type GCSettings struct {
	Percent int32 // GOGC; -1 is off
	Limit   int64 // GOMEMLIMIT, in bytes; math.MaxInt64 is off
}

// ErrNotTaken says that the settings were replaced as soon as they were written.
var ErrNotTaken = errors.New("the program sets its GC itself")

// A Setter reads and writes GOGC and GOMEMLIMIT of a running process, as
// debug.SetGCPercent and debug.SetMemoryLimit would in it. The process is not stopped.
//
// Why the runtime tolerates that (mgcpacer.go, Go 1.21 to 1.27). Four fields of gcController
// are written, each aligned, each with one write: gcPercent, memoryLimit, heapMinimum and
// gcPercentHeapGoal. Three are atomics that the runtime loads once for each decision; it
// reads heapMinimum only to compute the goal (commit). None is an address, a length or an
// index: all are only compared with, or added to, heap sizes. trigger, the one function here
// that can throw, does so if the trigger exceeds the goal, and derives both from one load of
// the goal. A value seen too early, too late or half written therefore starts a GC cycle, or
// returns free memory to the OS, earlier or later, no more.
type Setter struct {
	*Target
	mem  *os.File
	sets Sets
}

// AttachToSet is [Attach] for a Setter. It needs no more than Attach: the kernel demands the
// right to ptrace a process for reading its memory as for writing it.
func AttachToSet(fs procmem.FS, pid int) (*Setter, error) {
	return newSetter(fs, pid, func(p *Program) (*Target, error) { return p.attach(fs, pid, os.O_RDWR) })
}

// AttachToMemory is AttachToSet with [Setter.Mem] of an earlier Setter of the process: if it
// has begun another program since, that one is not changed. The Setter closes mem.
func AttachToMemory(fs procmem.FS, pid int, mem *os.File) (*Setter, error) {
	s, err := newSetter(fs, pid, func(p *Program) (*Target, error) { return p.attachTo(fs, pid, mem) })
	if err != nil {
		mem.Close()
	}
	return s, err
}

func newSetter(fs procmem.FS, pid int, attach func(*Program) (*Target, error)) (*Setter, error) {
	exe, info, err := input.Open(fs.ExePath(pid))
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	f, err := open(exe, info.Size())
	if err != nil {
		return nil, err
	}
	p, err := Find(f)
	if errors.Is(err, errNotGo) {
		return nil, NotGo(fs, pid)
	}
	if err != nil {
		return nil, err
	}
	t, err := attach(p)
	if err != nil {
		return nil, err
	}
	return &Setter{t, t.mem.(*os.File), setsOf(f)}, nil
}

// Mem is the memory of the process, opened for writing.
func (s *Setter) Mem() *os.File { return s.mem }

// Sets is what in the program may set its GC.
func (s *Setter) Sets() Sets { return s.sets }

// pacer is the part of runtime.gcController that is read and written.
type pacer struct {
	GCSettings
	minimum, goal           uint64
	marked, stacks, globals uint64 // what the goal is computed from
}

// pacerFields are where that is.
type pacerFields struct {
	size, percent, limit, minimum, goal, marked, stacks, globals, triggered layout.Field
}

func (t *Target) pacerFields() (f pacerFields, err error) {
	for path, to := range map[string]*layout.Field{
		"gcControllerState": &f.size, "gcControllerState.gcPercent": &f.percent, "gcControllerState.memoryLimit": &f.limit,
		"gcControllerState.heapMinimum": &f.minimum, "gcControllerState.gcPercentHeapGoal": &f.goal, "gcControllerState.heapMarked": &f.marked,
		"gcControllerState.lastStackScan": &f.stacks, "gcControllerState.globalsScan": &f.globals, "gcControllerState.triggered": &f.triggered,
	} {
		*to = t.field(path)
	}
	if err := t.lacks(); err != nil {
		return f, err
	}
	if f.size.Size > 1<<20 || f.percent.Size != 4 || f.limit.Size != 8 {
		return f, fmt.Errorf("runtime.gcController: %w", layout.ErrUnknown)
	}
	return f, nil
}

func (t *Target) pacer(f pacerFields) (p pacer, err error) {
	t.begin()
	all := make([]byte, f.size.Size)
	if err := t.read(t.at.GCController+t.moved, all); err != nil {
		return p, err
	}
	at := func(f layout.Field) uint64 { return number(all, f) }
	return pacer{GCSettings{int32(at(f.percent)), int64(at(f.limit))}, at(f.minimum), at(f.goal), at(f.marked), at(f.stacks), at(f.globals)}, nil
}

// heapMinimum is what the runtime computes for it (setGCPercent), overflow included.
func heapMinimum(percent int32) uint64 { return (4 << 20) * uint64(percent) / 100 }

// goalWith is the goal that the runtime computes (commit), overflow included, with so many
// bytes of global variables.
func (p pacer) goalWith(globals uint64) uint64 {
	if p.Percent < 0 {
		return math.MaxUint64
	}
	return max(p.marked+(p.marked+p.stacks+globals)*uint64(p.Percent)/100, heapMinimum(p.Percent))
}

// MaxPercent is the largest GOGC that may be set. With more, the goal of a large heap
// overflows 64 bits.
const MaxPercent = 1_000_000

// check returns why the fields cannot be those of runtime.gcController.
func (p pacer) check() error {
	const most = 1 << 48
	switch {
	case p.Percent < -1:
		return fmt.Errorf("%w: GOGC is %d", ErrInconsistent, p.Percent)
	case p.Limit < 0:
		return fmt.Errorf("%w: GOMEMLIMIT is %d", ErrInconsistent, p.Limit)
	case p.minimum != heapMinimum(p.Percent):
		return fmt.Errorf("%w: GOGC is %d, the minimum heap %d bytes", ErrInconsistent, p.Percent, p.minimum)
	case p.marked > most || p.stacks > most || p.globals > most || p.globals == 0:
		return fmt.Errorf("%w: live heap of %d bytes, stacks of %d, globals of %d", ErrInconsistent, p.marked, p.stacks, p.globals)
	}
	// A plugin adds its global variables before the next cycle computes the goal with them.
	least, greatest := p.goalWith(0), p.goalWith(p.globals)
	if p.Percent > MaxPercent {
		least, greatest = p.minimum, math.MaxUint64
	}
	if p.goal < least || p.goal > greatest {
		return fmt.Errorf("%w: the heap goal is %d bytes, not %d to %d as GOGC=%d demands", ErrInconsistent, p.goal, least, greatest, p.Percent)
	}
	return nil
}

// settle reads the pacer until its fields agree: the runtime writes one after the other.
func (t *Target) settle() (f pacerFields, p pacer, err error) {
	if f, err = t.pacerFields(); err != nil {
		return f, p, err
	}
	for range 20 {
		if p, err = t.pacer(f); err != nil {
			return f, p, err
		}
		if err = p.check(); err == nil {
			return f, p, nil
		}
		time.Sleep(time.Millisecond)
	}
	return f, p, err
}

// Settings reads the settings in effect.
func (s *Setter) Settings() (GCSettings, error) {
	_, p, err := s.settle()
	return p.GCSettings, err
}

// Set changes the settings, with immediate effect: it also sets the heap goal that the next
// GC cycle starts by. It returns the settings before. After an error they are in effect
// again, except after ErrNotTaken: then what the program has set itself is.
func (s *Setter) Set(want GCSettings) (before GCSettings, err error) {
	f, p, err := s.settle()
	if err != nil {
		return before, err
	}
	before = p.GCSettings
	if err := s.change(f, p, want); err != nil {
		return before, errors.Join(err, s.Restore(before, want))
	}
	_, now, err := s.settle()
	switch {
	case err != nil:
		return before, errors.Join(err, s.Restore(before, want))
	case now.GCSettings != want:
		return before, fmt.Errorf("%w: GOGC is %d, GOMEMLIMIT %d now", ErrNotTaken, now.Percent, now.Limit)
	}
	return before, nil
}

// Restore puts settings back that were replaced by written, whatever part of that was
// written. A setting that the program has changed since stays.
func (s *Setter) Restore(before, written GCSettings) error {
	f, err := s.pacerFields()
	if err != nil {
		return err
	}
	p, err := s.pacer(f)
	if err != nil {
		return err
	}
	if p.Percent != written.Percent {
		before.Percent = p.Percent
	}
	if p.Limit != written.Limit {
		before.Limit = p.Limit
	}
	return s.change(f, p, before)
}

// change writes what differs. GOGC=off without a limit must not be in effect even between
// two writes, so a limit is set first and removed last.
func (s *Setter) change(f pacerFields, p pacer, want GCSettings) error {
	limit := func() error {
		if p.Limit == want.Limit {
			return nil
		}
		return s.put(f.limit, uint64(want.Limit))
	}
	if want.Limit <= p.Limit {
		if err := limit(); err != nil {
			return err
		}
	}
	if p.Percent != want.Percent {
		if err := s.put(f.percent, uint64(uint32(want.Percent))); err != nil {
			return err
		}
	}
	if err := s.follow(f); err != nil {
		return err
	}
	if want.Limit > p.Limit {
		return limit()
	}
	return nil
}

// follow makes minimum and goal follow from the GOGC in effect, as the runtime does. A GC
// cycle that ends meanwhile, or debug.SetGCPercent, computes both itself, so they are read
// again after each write: what was written from older figures does not stay.
func (s *Setter) follow(f pacerFields) error {
	const tries, pause = 5000, 200 * time.Microsecond
	for i := range tries {
		// A commit that loaded the GOGC before may still have to store the goal.
		committing, err := s.committing(f)
		if err != nil {
			return err
		}
		p, err := s.pacer(f)
		if err != nil {
			return err
		}
		least, goal := heapMinimum(p.Percent), p.goalWith(p.globals)
		if p.minimum == least && p.goal == goal && (!committing || i == tries-1) {
			return nil
		}
		if p.minimum != least {
			err = s.put(f.minimum, least)
		}
		if err == nil && p.goal != goal {
			err = s.put(f.goal, goal)
		}
		if err != nil {
			return err
		}
		if committing {
			time.Sleep(pause)
		}
	}
	return fmt.Errorf("%w: its heap goal changes all the time", ErrInconsistent)
}

// committing reports whether a GC cycle is ending (gcMarkTermination): between resetLive,
// which clears triggered, and the count of ended cycles, the runtime commits the goal. With
// the world stopped that takes microseconds, or longer if the kernel has other work. A commit
// that lasts from before the call until after it is always seen.
func (s *Setter) committing(f pacerFields) (bool, error) {
	ended, begun := s.field("mstats.numgc"), s.field("workType.cycles")
	if err := s.lacks(); err != nil || s.at.Work == 0 {
		return false, err
	}
	s.begin()
	var n [3]uint64
	for i, at := range []struct {
		base  uint64
		field layout.Field
	}{{s.at.MemStats, ended}, {s.at.Work, begun}, {s.at.GCController, f.triggered}} {
		b := make([]byte, at.field.Size)
		if err := s.read(at.base+s.moved+at.field.Offset, b); err != nil {
			return false, err
		}
		n[i] = number(b, layout.Field{Size: at.field.Size})
	}
	return uint32(n[1]) != uint32(n[0]) && n[2] == math.MaxUint64, nil
}

// put writes a field of runtime.gcController.
func (s *Setter) put(f layout.Field, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	n, err := s.mem.WriteAt(b[:f.Size], int64(s.at.GCController+s.moved+f.Offset))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.ErrShortWrite), err == nil && n != int(f.Size):
		return fmt.Errorf("write its memory: %w", ErrGone)
	case err != nil:
		return fmt.Errorf("write its memory: %w", err)
	}
	return nil
}
