package goheap

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

const (
	// slice is how often collapsing takes its share of the time, so that other
	// threads that wait for the kernel's lock on the address space come in between.
	slice = 50 * time.Millisecond
	// markWait is how long to wait for the end of a mark phase at a time.
	markWait = 20 * time.Millisecond
	// mostRefusals in a row mean that the kernel has no huge pages to give. That it is
	// using some of a window's pages just now means less.
	mostRefusals = 64
	refusal      = mostRefusals / 4
	busy         = 1
)

// collapse does one piece of what there is to collapse, and returns when to go on.
func (a *Advisor) collapse(now time.Time) (next time.Duration) {
	if left := a.pace.until.Sub(now); left > 0 {
		return left // a GC cycle ended meanwhile
	}
	a.stats.Waiting = ""
	if left := a.refused.left(now); left > 0 {
		a.stats.Waiting = "the kernel refused to make huge pages"
		return min(left, a.options.MaxWait)
	}
	if pressed, err := a.pressure.above(a.fs, now, a.options.MaxPressure); err != nil {
		a.failed(err)
	} else if pressed {
		a.stats.Waiting = "memory pressure"
		return time.Second
	}
	// CPU time, since on a busy machine most of the rest is waiting for a processor.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	piece := a.pace.piece()
	first := threadTime()
	before := a.stats.Windows.Collapsed
	for n := 0; len(a.todo) > 0 && (n == 0 || threadTime()-first < piece); n++ {
		if marking() {
			a.stats.Waiting = "the GC marks"
			break
		}
		w := a.todo[0]
		if !a.affords(w) {
			a.stats.Windows.Sparse += len(a.todo)
			a.todo = a.todo[:0]
			break
		}
		a.todo = a.todo[1:]
		a.pass.tried++
		a.window(w)
		if a.refusals >= mostRefusals {
			a.refusals = 0
			a.refused.again(now)
			break
		}
	}
	a.pass.collapsed += a.stats.Windows.Collapsed - before
	spent := max(threadTime()-first, 0)
	a.pace.took(a.stats.Windows.Collapsed-before, spent)
	if before == 0 && a.stats.Windows.Collapsed > 0 {
		a.info(fmt.Sprintf("collapsing %s of heap", unit.Size(a.stats.Committed)))
	}
	if a.stats.Waiting != "" {
		return markWait
	}
	next = max(a.pace.rest(spent), time.Millisecond)
	a.pace.until = time.Now().Add(next)
	return next
}

// affords reports whether the holes of a window may be filled: of all that was
// ever collapsed, they are at most half of what bloat may be.
func (a *Advisor) affords(w page.Window) bool {
	whole := uint64(w.Range.Len())
	all := uint64(a.stats.Windows.Collapsed)*whole + whole
	return float64(a.stats.Filled+whole-w.Resident) <= a.options.MaxBloat/2*float64(all)
}

// window collapses one window. Its density is looked at again: it may have changed.
func (a *Advisor) window(w page.Window) {
	fenced := a.fenced(w.Range)
	if fenced {
		// Only for the moment; khugepaged takes longer to come by.
		if err := w.Range.Advise(page.AdviseHuge); err != nil {
			a.failed(err)
			return
		}
	}
	c, err := w.Range.Collapse(&page.CollapseOptions{MinDensity: a.options.MinDensity})
	if fenced {
		if err := w.Range.Advise(page.AdviseNoHuge); err != nil {
			a.failed(err)
		}
	}
	s := &a.stats.Windows
	s.Collapsed += c.Collapsed
	s.Already += c.Already
	s.Sparse += c.Sparse
	s.Empty += c.Empty
	s.Refused += c.Refused
	switch {
	case err != nil:
		a.failed(err)
		a.refusals += refusal
	case c.Refused > 0:
		s.Reason = c.Reason
		if errors.Is(c.Reason, syscall.EAGAIN) {
			a.refusals += busy
			return
		}
		a.failed(c.Reason)
		a.refusals += refusal
	case c.Collapsed > 0:
		a.stats.Filled += uint64(w.Range.Len()) - w.Resident
		a.stats.Resident += uint64(w.Range.Len()) - w.Resident
		a.stats.Huge += uint64(w.Range.Len()) - w.Huge
		a.refusals = 0
		a.refused.reset()
	}
}
