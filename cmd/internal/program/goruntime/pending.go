package goruntime

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// Pending is what the GC has found unreachable, and what has not been called for it yet.
type Pending struct {
	// Finalizers is how many finalizers wait, the one that runs included. With Go 1.24 cleanups
	// are among them.
	Finalizers uint64
	// Functions are those finalizers by function, the most first: at most mostFinalizers were
	// looked at. Programs without names have none.
	Functions []PendingFunc
	// Cleanups is how many cleanups wait or run (/gc/cleanups/queued less executed). The
	// runtime counts those that ran once a block of some hundred has. nil before Go 1.25, or
	// if it is not known.
	Cleanups *uint64
}

// A PendingFunc is a function that is to be called.
type PendingFunc struct {
	symbol.Frame
	Count uint64
}

const (
	mostBlocks     = 1 << 20 // of finalizers, 101 in each
	mostFinalizers = 1 << 16
)

// Pending reads what waits for its finalizer or cleanup. Versions of Go whose layout is not
// known are a [layout.ErrUnknown].
func (t *Target) Pending() (p Pending, err error) {
	t.begin()
	if p.Finalizers, p.Functions, err = t.finalizers(); err != nil {
		return p, err
	}
	p.Cleanups, err = t.cleanups()
	return p, err
}

// finalizers counts the finalizers in the blocks of all (allfin). Of the two variables that
// may be that list one is a mask, whose bits are no address.
func (t *Target) finalizers() (n uint64, funcs []PendingFunc, err error) {
	name := "finBlock"
	if _, ok := t.l.Field(name + ".cnt"); !ok {
		name = "finblock" // until Go 1.24
	}
	next, count, list := t.field(name+".alllink"), t.field(name+".cnt"), t.field(name+".fin")
	if err := t.lacks(); err != nil {
		return 0, nil, err
	}
	const finalizer = 5 * 8 // bytes: the function is first
	most := list.Size / finalizer
	refs := t.at.References[layout.Finalizers]
	if len(refs) == 0 {
		return 0, nil, fmt.Errorf("runtime.allfin was not found: %w", layout.ErrUnknown)
	}
	calls := make(map[uint64]uint64)
	looked := 0
	for _, ref := range refs {
		at, err := t.word(ref + t.moved)
		if err != nil {
			return 0, nil, err
		}
		if at == 0 || at%8 != 0 || at >= 1<<48 {
			continue
		}
		block := make([]byte, list.Offset+list.Size)
		for i := 0; at != 0; i++ {
			if err := t.read(at, block); err != nil {
				return 0, nil, err
			}
			c := number(block, count)
			if c > most || i == mostBlocks {
				return 0, nil, fmt.Errorf("%w: %d finalizers in a block of %d", ErrInconsistent, c, most)
			}
			n += c
			for j := range c {
				if fn := binary.LittleEndian.Uint64(block[list.Offset+j*finalizer:]); looked < mostFinalizers {
					looked++
					calls[fn]++
				}
			}
			at = number(block, next)
		}
	}
	return n, t.functions(calls), nil
}

// functions names what closures call, by their first word.
func (t *Target) functions(calls map[uint64]uint64) (out []PendingFunc) {
	for fn, n := range calls {
		pc, err := t.word(fn)
		if err != nil {
			continue // it has run meanwhile
		}
		f := t.Frames(pc, false)
		if len(f) == 0 {
			continue
		}
		frame := f[len(f)-1]
		i := slices.IndexFunc(out, func(p PendingFunc) bool { return p.Func == frame.Func })
		if i < 0 {
			out = append(out, PendingFunc{Frame: frame})
			i = len(out) - 1
		}
		out[i].Count += n
	}
	slices.SortFunc(out, func(a, b PendingFunc) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Func, b.Func)) })
	return out
}

// cleanups is what the queue of cleanups counts.
func (t *Target) cleanups() (*uint64, error) {
	if _, ok := t.l.Field("cleanupQueue"); !ok {
		return nil, nil
	}
	queued, executed, ofP := t.field("cleanupQueue.queued"), t.field("cleanupQueue.executed"), t.field("p.cleanupsQueued")
	if err := t.lacks(); err != nil {
		return nil, err
	}
	if t.at.CleanupQueue == 0 {
		return nil, nil
	}
	// In this order: what is queued meanwhile counts as waiting.
	done, err := t.word(t.at.CleanupQueue + t.moved + executed.Offset)
	if err != nil {
		return nil, err
	}
	all, err := t.word(t.at.CleanupQueue + t.moved + queued.Offset)
	if err != nil {
		return nil, err
	}
	ps, err := t.processors()
	if err != nil {
		return nil, err
	}
	for _, p := range ps {
		n, err := t.word(p + ofP.Offset)
		if err != nil {
			return nil, err
		}
		all += n
	}
	if done > all {
		return nil, fmt.Errorf("%w: %d cleanups ran, and %d were queued", ErrInconsistent, done, all)
	}
	return new(all - done), nil
}
