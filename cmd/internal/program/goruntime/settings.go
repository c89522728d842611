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

// GCSettings are how the GC of a process is set.
type GCSettings struct {
	Percent int32 // GOGC; -1 is off
	Limit   int64 // GOMEMLIMIT, in bytes; math.MaxInt64 is none
}

// ErrNotTaken says that a process does not have the settings that were just written: the
// program sets its GC itself.
var ErrNotTaken = errors.New("the program sets its GC itself")

// A Setter reads and writes how the GC of a process is set. The process is not stopped, and
// goes on as if package runtime/debug had set it: what is written are the variables that
// debug.SetGCPercent and debug.SetMemoryLimit write, and the goal that the former computes.
//
// Why a runtime that runs can bear that (mgcpacer.go, Go 1.19 on): gcPercent, memoryLimit and
// gcPercentHeapGoal are atomics that the runtime loads anew for each use, and heapMinimum is
// read where the goal is computed; each is aligned, and only compared with sizes of the heap.
// Whatever the order in which it sees them, the worst is one GC cycle that begins earlier or
// later than it would have. Nothing is allocated, freed or followed by them.
type Setter struct {
	*Target
	out io.WriterAt
}

// AttachToSet is [Attach] for a Setter. Whoever may read the memory of a process by
// [Attach] may write it: the kernel asks for the right to ptrace it for both.
func AttachToSet(fs procmem.FS, pid int) (*Setter, error) {
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
	if err != nil {
		return nil, err
	}
	t, err := p.attach(fs, pid, os.O_RDWR)
	if err != nil {
		return nil, err
	}
	return &Setter{t, t.mem.(io.WriterAt)}, nil
}

// pacer is the part of runtime.gcController that is read and written.
type pacer struct {
	GCSettings
	minimum, goal, marked uint64
}

// pacerFields are where that is.
type pacerFields struct{ size, percent, limit, minimum, goal, marked layout.Field }

func (t *Target) pacerFields() (f pacerFields, err error) {
	for path, to := range map[string]*layout.Field{
		"gcControllerState": &f.size, "gcControllerState.gcPercent": &f.percent, "gcControllerState.memoryLimit": &f.limit,
		"gcControllerState.heapMinimum": &f.minimum, "gcControllerState.gcPercentHeapGoal": &f.goal, "gcControllerState.heapMarked": &f.marked,
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
	return pacer{GCSettings{int32(number(all, f.percent)), int64(number(all, f.limit))}, number(all, f.minimum), number(all, f.goal), number(all, f.marked)}, nil
}

// heapMinimum is what the runtime computes for it (setGCPercent), overflow included.
func heapMinimum(percent int32) uint64 { return (4 << 20) * uint64(percent) / 100 }

// check says what of it contradicts itself: then it is not runtime.gcController.
func (p pacer) check() error {
	const most = 1 << 48
	switch {
	case p.Percent < -1:
		return fmt.Errorf("%w: GOGC is %d", ErrInconsistent, p.Percent)
	case p.Limit < 0:
		return fmt.Errorf("%w: GOMEMLIMIT is %d", ErrInconsistent, p.Limit)
	case p.minimum != heapMinimum(p.Percent):
		return fmt.Errorf("%w: with GOGC=%d the smallest heap is %d bytes", ErrInconsistent, p.Percent, p.minimum)
	case p.marked > most:
		return fmt.Errorf("%w: %d bytes are live", ErrInconsistent, p.marked)
	case p.Percent >= 0 && (p.goal < p.minimum || p.goal < p.marked):
		return fmt.Errorf("%w: the goal of the heap is %d bytes, less than its live %d or its smallest %d", ErrInconsistent, p.goal, p.marked, p.minimum)
	}
	return nil
}

// settle reads the pacer until it agrees with itself: the runtime writes one field after the
// other.
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

// Settings reads how the GC is set.
func (s *Setter) Settings() (GCSettings, error) {
	_, p, err := s.settle()
	return p.GCSettings, err
}

// Set sets the GC, at once: the goal of the heap is the new one, and the next GC cycle begins
// by it. It returns what was before. After an error nothing is changed, but for ErrNotTaken:
// then the program has set it to something else meanwhile, and is left with that.
func (s *Setter) Set(want GCSettings) (before GCSettings, err error) {
	f, p, err := s.settle()
	if err != nil {
		return before, err
	}
	before = p.GCSettings
	// Never GOGC=off without a limit, not even for a moment.
	steps := []func() error{func() error { return s.setLimit(f, want.Limit) }, func() error { return s.setPercent(f, p, want.Percent) }}
	if want.Limit > p.Limit {
		steps[0], steps[1] = steps[1], steps[0]
	}
	for i, step := range steps {
		if err := step(); err != nil {
			if i > 0 {
				_ = s.setLimit(f, p.Limit)
				_ = s.setPercent(f, p, p.Percent)
			}
			return before, err
		}
	}
	_, now, err := s.settle()
	switch {
	case err != nil:
		return before, err
	case now.GCSettings != want:
		return before, fmt.Errorf("%w: it has GOGC=%d, GOMEMLIMIT=%d now", ErrNotTaken, now.Percent, now.Limit)
	}
	return before, nil
}

func (s *Setter) setLimit(f pacerFields, limit int64) error { return s.put(f.limit, uint64(limit)) }

// setPercent writes GOGC with what follows from it. was is from before.
func (s *Setter) setPercent(f pacerFields, was pacer, percent int32) error {
	if err := s.put(f.minimum, heapMinimum(percent)); err != nil {
		return err
	}
	if err := s.put(f.percent, uint64(uint32(percent))); err != nil {
		return err
	}
	// A GC cycle that ends now computes the goal by the new GOGC itself, from what it found
	// live. What is written over that must not be of the live heap before.
	for range 3 {
		now, err := s.pacer(f)
		if err != nil {
			return err
		}
		if err := s.put(f.goal, goal(now, was, percent)); err != nil {
			return err
		}
		after, err := s.pacer(f)
		if err != nil || after.marked == now.marked {
			return err
		}
	}
	return nil
}

// goal is that of the heap with another GOGC (commit): what was marked, and as much again by
// percent, of stacks and globals too, which the goal before has in it where GOGC was on.
func goal(now, was pacer, percent int32) uint64 {
	if percent < 0 {
		return math.MaxUint64
	}
	more := float64(now.marked) / 100
	if was.Percent > 0 && was.goal > was.minimum && was.goal > was.marked && was.marked == now.marked {
		more = float64(was.goal-was.marked) / float64(was.Percent)
	}
	return max(now.marked+uint64(min(more*float64(percent), 1<<62)), heapMinimum(percent))
}

// put writes a field of runtime.gcController.
func (s *Setter) put(f layout.Field, v uint64) error {
	var b [8]byte
	binary.LittleEndian.PutUint64(b[:], v)
	n, err := s.out.WriteAt(b[:f.Size], int64(s.at.GCController+s.moved+f.Offset))
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF), err == nil && n != int(f.Size):
		return fmt.Errorf("write its memory: %w", ErrGone)
	case err != nil:
		return fmt.Errorf("write its memory: %w", err)
	}
	return nil
}

// Restore takes settings back that were written: each is what it was before, unless the
// program has set it to something else since. It holds whatever Set came to.
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
	was := p
	if was.check() != nil {
		was.Percent = 0 // its goal says nothing
	}
	percent := func() error { return s.setPercent(f, was, before.Percent) }
	limit := func() error { return s.setLimit(f, before.Limit) }
	if before.Limit > p.Limit {
		return errors.Join(percent(), limit())
	}
	return errors.Join(limit(), percent())
}
