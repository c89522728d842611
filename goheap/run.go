package goheap

import (
	"runtime"
	"time"

	"github.com/foliomem/folio/internal/system/cputime"
)

const (
	idle = -1
	// atLeast is how often counters are read of a heap that is, or can become, large
	// enough without a GC cycle, which would wake the advisor.
	atLeast = time.Second
)

// run looks at the heap, the less often the less there is to do.
func (a *Advisor) run() {
	defer close(a.done)
	wait := a.options.MinWait
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		a.arm()
		asleep := time.Now()
		select {
		case <-a.quit:
			return
		case <-timer.C:
		case <-a.collected:
			// Small heaps may be collected many times a second.
			if rest := a.leastWait() - time.Since(asleep); rest > 0 {
				select {
				case <-a.quit:
					return
				case <-time.After(rest):
				}
			}
		}
		began := time.Now()
		next, most := a.look(began)
		a.stats.Spent += time.Since(began)
		a.publish()
		switch {
		case next > 0:
			wait = next
		case next == 0:
			wait = a.options.MinWait
		default:
			wait = min(max(2*wait, a.options.MinWait), most)
		}
		timer.Reset(wait)
	}
}

// arm has the next GC cycle wake the advisor.
func (a *Advisor) arm() {
	if a.armed.Swap(true) {
		return
	}
	// The cleanup must not keep the advisor's goroutine waiting, nor the other way about.
	runtime.AddCleanup(new([32]byte), func(a *Advisor) {
		a.armed.Store(false)
		select {
		case a.collected <- struct{}{}:
		default:
		}
	}, a)
}

// look does what there is to do. It returns when to look again: after next, or if
// that is 0, after the shortest time; or if it is idle, after twice the time that
// it waited last, but at most most.
func (a *Advisor) look(now time.Time) (next, most time.Duration) {
	a.heedLock()
	if len(a.todo) == 0 {
		if cpu, ok := cputime.Process(); ok {
			a.pace.use.Note(now, cpu) // without what collapsing takes
		}
	}
	h := readHeap()
	soon := a.adapt(now, &h)
	next, most = a.lookAt(now, h)
	if soon && (next <= 0 || next > adaptEvery) {
		next = adaptEvery
	}
	return next, most
}

func (a *Advisor) lookAt(now time.Time, h heapState) (next, most time.Duration) {
	least := uint64(a.options.MinHeap)
	large := h.committed() >= least
	most = a.options.MaxWait
	// With GOGC=off there may never be a GC cycle, and no one says when a program
	// locks its memory.
	if large || h.goal >= least || a.stats.Reserved.Len() > 0 || a.adaptive.near(h) {
		most = min(most, max(atLeast, a.options.MinWait))
	}
	// A heap that was large once may be bloated, whoever made its huge pages.
	responsible := a.stats.Looks > 0 || a.stats.Reserved.Len() > 0
	if !large && !responsible {
		a.stats.Waiting = ""
		return idle, most
	}
	grew := false
	if len(a.todo) == 0 || h.cycles != a.last.cycles && !now.Before(a.rested) {
		if a.settled && !a.changed(h) && !a.filling(now) {
			return idle, most
		}
		if rest := a.rested.Sub(now); rest > 0 {
			return rest, most
		}
		const much = 32
		grew = h.committed() > a.last.committed()+a.last.committed()/much
		vain := a.pass.tried > 0 && a.pass.collapsed == 0
		if err := a.survey(h, now); err != nil {
			a.failed(err)
			return idle, most
		}
		if a.bloated() && a.releaseAgain(now) {
			a.settled = false
			return 0, most
		}
		if vain && !grew {
			a.todo = nil // until the next GC cycle, or another change
		}
	}
	if !large || a.options.NoCollapse {
		a.settled, a.todo = true, nil
		return idle, most
	}
	if len(a.todo) == 0 {
		a.settled, a.stats.Waiting = true, ""
		if grew {
			return 0, most // it may go on growing
		}
		return idle, most
	}
	return a.collapse(now), most
}

// filling reports whether khugepaged may have filled holes of an adaptive reserve, which no
// counter tells, since the heap's pages were looked at last.
func (a *Advisor) filling(now time.Time) bool {
	const every = 10 * time.Second
	return a.stats.Advised.Len() > 0 && now.Sub(a.stats.Looked) >= every
}

// changed reports whether the heap is another one than it was when it was looked
// at, as far as counters tell.
func (a *Advisor) changed(h heapState) bool {
	const part = 64
	differs := func(x, y uint64) bool { return max(x, y)-min(x, y) > max(x, y)/part }
	return h.cycles != a.last.cycles || differs(h.objects, a.last.objects) || differs(h.committed(), a.last.committed())
}
