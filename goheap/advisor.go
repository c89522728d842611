package goheap

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/internal/procmem"
	"github.com/foliomem/folio/page"
)

// ErrStarted says that the process has an advisor already. Two would double each other's
// budgets.
var ErrStarted = errors.New("an advisor runs in this process already")

var started atomic.Bool

// Advisor watches over the heap of this process. Its methods may be called by many
// goroutines at once.
type Advisor struct {
	options Options
	fs      procmem.FS

	stats     Stats // of the goroutine that runs; others read published
	published atomic.Pointer[Stats]

	last      heapState // when the heap was last looked at
	rested    time.Time // when it may be looked at again
	reach     uintptr   // the end of the last window of the reserve that was used
	todo      []page.Window
	settled   bool // nothing is left to do until something changes
	refusals  int  // in a row
	refused   backoff
	giveBacks backoff
	pressure  pressureGate
	said      map[string]bool // errors that were logged

	collected chan struct{} // a collection was completed
	armed     atomic.Bool   // collected will be sent to
	quit      chan struct{}
	done      chan struct{}
	stop      sync.Once
	stopErr   error
}

// Start starts an advisor, which works in the background until Stop. A process can have
// one at a time. It fails, and changes nothing, where the kernel or a policy
// allows nothing of what the options ask for; if it allows a part, that is done, and
// the rest is in [Stats.Err]. With a reserve it takes some milliseconds and
// completes a collection; otherwise it returns at once.
func Start(o *Options) (*Advisor, error) {
	a, err := start(o)
	if err != nil {
		return nil, fmt.Errorf("goheap: %w", err)
	}
	return a, nil
}

func start(o *Options) (*Advisor, error) {
	own, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	if !started.CompareAndSwap(false, true) {
		return nil, ErrStarted
	}
	a := &Advisor{
		options: own, fs: procmem.New(""), said: map[string]bool{},
		refused:   backoff{least: 5 * time.Second, most: 5 * time.Minute},
		giveBacks: backoff{least: 30 * time.Second, most: 30 * time.Minute},
		collected: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
	if err := a.prepare(); err != nil {
		started.Store(false)
		return nil, err
	}
	a.publish()
	go a.run()
	return a, nil
}

// prepare finds out what can be done, and makes the reserve.
func (a *Advisor) prepare() error {
	collapse := mayCollapse()
	if collapse != nil && a.options.Reserve == 0 {
		return collapse
	}
	if thp, err := a.fs.THP(); err == nil {
		a.stats.Hazards = hazards(thp, a.options)
		for _, h := range a.stats.Hazards {
			a.options.Log("hazard: " + h)
		}
	}
	if a.options.Reserve != 0 {
		n, err := reserveSize(a.fs, a.options)
		if err == nil {
			a.stats.Reserved, err = reserve(a.fs, n)
		}
		if err != nil {
			err = fmt.Errorf("reserve: %w", err)
			if collapse != nil || a.options.NoCollapse {
				return err
			}
			a.failed(err)
		} else {
			a.options.Log(fmt.Sprintf("reserved %d MiB for the heap to grow into huge pages", a.stats.Reserved.Len()>>20))
		}
	}
	if collapse != nil {
		a.options.NoCollapse = true
		a.failed(collapse)
	}
	if ranges, err := own(a.fs); err != nil {
		if a.stats.Reserved.Len() == 0 {
			return err
		}
		a.failed(err)
	} else {
		a.stats.Ranges = ranges
	}
	return nil
}

// Stats returns what the advisor knows and did.
func (a *Advisor) Stats() Stats {
	s := *a.published.Load()
	s.Ranges, s.Hazards = slices.Clone(s.Ranges), slices.Clone(s.Hazards)
	return s
}

// Stop ends the advisor. The heap stays as it is by then: what is huge stays huge until
// it is given back. The advice for a reserve cannot be taken back, only turned
// into its opposite: under THP policy madvise the reserve is advised against huge
// pages, which for faults and khugepaged is what it was without the advisor, but
// keeps others from collapsing it; under always it stays advised. The error
// says that this failed. Stopping twice does nothing more.
func (a *Advisor) Stop() error {
	a.stop.Do(func() {
		close(a.quit)
		<-a.done
		if err := a.release(); err != nil {
			a.stopErr = fmt.Errorf("goheap: stop: %w", err)
		}
		a.publish()
		started.Store(false)
	})
	return a.stopErr
}

func (a *Advisor) publish() {
	s := a.stats
	a.published.Store(&s)
}

// failed keeps an error, and logs it if it is new.
func (a *Advisor) failed(err error) {
	a.stats.Err = err
	const most = 20
	if text := err.Error(); !a.said[text] && len(a.said) < most {
		a.said[text] = true
		a.options.Log(text)
	}
}

// atLeast is how often a heap that is large enough is looked at. One that is not
// cannot become so without collections, which wake the advisor.
const atLeast = 4 * time.Second

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
			if rest := a.options.MinWait - time.Since(asleep); rest > 0 {
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

// arm has the next collection wake the advisor.
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

const idle = -1

// look does what there is to do. It returns when to look again: after next, or if
// that is 0, after the shortest time; or if it is idle, after twice the time that
// it waited last, but at most most.
func (a *Advisor) look(now time.Time) (next, most time.Duration) {
	h := readHeap()
	large := h.committed() >= uint64(a.options.MinHeap)
	most = a.options.MaxWait
	if large {
		most = min(most, max(atLeast, a.options.MinWait))
	}
	responsible := a.stats.Windows.Collapsed > 0 || a.stats.Reserved.Len() > 0
	if !large && !responsible {
		a.stats.Waiting = ""
		return idle, most
	}
	if len(a.todo) == 0 || h.cycles != a.last.cycles && !now.Before(a.rested) {
		if a.settled && !a.changed(h) {
			return idle, most
		}
		if rest := a.rested.Sub(now); rest > 0 {
			return rest, most
		}
		if err := a.survey(h, now); err != nil {
			a.failed(err)
			return idle, most
		}
		if a.bloated() && a.giveBack(now) {
			a.settled = false
			return 0, most
		}
	}
	if !large || a.options.NoCollapse {
		a.settled, a.todo = true, nil
		return idle, most
	}
	if len(a.todo) == 0 {
		a.settled, a.stats.Waiting = true, ""
		return idle, most
	}
	return a.collapse(now), most
}

// changed reports whether the heap is another one than it was when it was looked
// at, as far as counters tell.
func (a *Advisor) changed(h heapState) bool {
	const part = 64
	differs := func(x, y uint64) bool { return max(x, y)-min(x, y) > max(x, y)/part }
	return h.cycles != a.last.cycles || differs(h.objects, a.last.objects) || differs(h.committed(), a.last.committed())
}

// Looking at all pages of a heap of base pages takes milliseconds a GiB: restFactor
// keeps that below 1% of the time.
const restFactor = 100

// survey looks at the pages of the heap, and notes what there is to collapse.
func (a *Advisor) survey(h heapState, now time.Time) error {
	if h.mapped != a.last.mapped || len(a.stats.Ranges) == 0 {
		ranges, err := own(a.fs)
		if err != nil {
			return err
		}
		a.stats.Ranges = ranges
	}
	s := &a.stats
	s.Mapped, s.Resident, s.Huge = 0, 0, 0
	s.Windows.Already, s.Windows.Empty, s.Windows.Sparse = 0, 0, 0
	a.todo = a.todo[:0]
	whole := uintptr(page.WindowSize())
	for _, r := range s.Ranges {
		res, err := r.Residency(&page.ResidencyOptions{Windows: true})
		if err != nil {
			return err
		}
		s.Mapped += uint64(r.Len())
		s.Resident += res.Resident
		s.Huge += res.Huge
		s.Windows.Empty += int(r.Inward(int(whole)).Len()/whole) - len(res.Windows)
		for _, w := range res.Windows {
			switch {
			case w.Range.Len() != whole:
			case w.Huge == uint64(whole):
				s.Windows.Already++
			case w.Resident == 0:
				s.Windows.Empty++
			case w.Density() < a.options.MinDensity:
				s.Windows.Sparse++
			default:
				a.todo = append(a.todo, w)
			}
		}
		for _, w := range res.Windows {
			if w.Range.Start >= s.Reserved.Start && w.Range.End <= s.Reserved.End {
				a.reach = max(a.reach, w.Range.End)
			}
		}
	}
	if s.Reserved.Len() > 0 {
		if thp, err := a.fs.THP(); err == nil && fills(thp) {
			if err := a.fence(); err != nil {
				a.failed(err)
			}
		}
	}
	s.Windows.Empty = max(s.Windows.Empty, 0)
	slices.SortStableFunc(a.todo, func(x, y page.Window) int { return int(int64(y.Resident) - int64(x.Resident)) })
	// What was committed meanwhile may be resident, so that it is no bloat.
	after := readHeap()
	s.Committed = max(h.committed(), after.committed())
	s.Bloat = sub(s.Resident, s.Committed)
	s.Looks++
	s.Looked = now
	a.last, a.settled = h, false
	a.rested = now.Add(restFactor * time.Since(now))
	return nil
}
