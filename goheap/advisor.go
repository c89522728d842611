package goheap

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrStarted is wrapped by the error of a second Start. Two advisors would double each
// other's budgets.
var ErrStarted = errors.New("an advisor runs in this process already: stop it first")

var started atomic.Bool

// Advisor puts the heap of this process on huge pages until it is stopped. Its methods may be
// called by many goroutines at once. A nil Advisor, as of a Start that failed, has stopped and
// has done nothing.
type Advisor struct {
	options Options
	fs      procmem.FS

	stats     state // of the goroutine that runs; others read published
	published atomic.Pointer[state]

	last      heapState // when the heap was last looked at
	rested    time.Time // when it may be looked at again
	reach     uintptr   // the end of the last window of the reserve that was used
	fencedTo  uintptr   // the end of the part of the reserve that is fenced
	todo      []page.Window
	pace      pace
	pass      struct{ tried, collapsed int } // windows, since the last look at the pages
	settled   bool                           // nothing is left to do until something changes
	refusals  int                            // in a row
	refused   backoff
	releases  backoff
	pressure  pressureGate
	said      map[string]bool // errors that were logged
	adaptive  *adaptive       // nil if the reserve is not
	lockedSum uint64          // how much memory was locked at the last look, in bytes
	lockedAll bool            // the process locks what it maps

	collected chan struct{} // a GC cycle was completed
	armed     atomic.Bool   // collected will be sent to
	quit      chan struct{}
	done      chan struct{}
	stop      sync.Once
}

// Start starts an advisor, which works in the background until Stop. A process can have
// one at a time: while one runs, the error wraps [ErrStarted]. Start also fails, and changes
// nothing, if an option is out of range, or if the kernel or a policy allows nothing of what
// the options ask for. If a part is allowed, that is done, and [Stats].Err says what is not.
// With a reserve it takes some milliseconds and completes a GC cycle; otherwise it returns
// at once.
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
	a := newAdvisor(own)
	if err := a.prepare(); err != nil {
		started.Store(false)
		return nil, err
	}
	a.publish()
	go a.run()
	return a, nil
}

func newAdvisor(own Options) *Advisor {
	return &Advisor{
		options: own, fs: procmem.New(""), said: map[string]bool{}, pace: newPace(own.Budget, cpus(procmem.New(""))),
		refused:   backoff{least: 5 * time.Second, most: 5 * time.Minute},
		releases:  backoff{least: 30 * time.Second, most: 30 * time.Minute},
		collected: make(chan struct{}, 1), quit: make(chan struct{}), done: make(chan struct{}),
	}
}

// prepare finds out what can be done, and makes the reserve.
func (a *Advisor) prepare() error {
	if err := unwanted(os.Getenv("GODEBUG")); err != nil {
		return err
	}
	collapse := mayCollapse()
	if a.options.ReserveMode == ReserveAdaptive {
		var err error
		if a.adaptive, err = newAdaptive(a.fs); err != nil {
			a.info("no adaptive reserve: " + err.Error())
			a.options.ReserveMode = ReserveFixed
			if a.options.NoCollapse {
				return err
			}
		}
	}
	if collapse != nil && !a.options.reserves() {
		return collapse
	}
	if thp, err := a.fs.THP(); err == nil {
		a.stats.Hazards = hazards(thp, a.options)
		for _, h := range a.stats.Hazards {
			a.info("hazard: " + h)
		}
	}
	if a.options.reserves() && a.adaptive == nil {
		n, err := reserveSize(a.fs, a.options)
		if err == nil {
			a.stats.Reserved, err = reserve(a.fs, n)
		}
		if err != nil {
			err = fmt.Errorf("reserve: %w", err)
			if collapse != nil || a.options.NoCollapse {
				return err
			}
			a.warn(err)
		} else {
			a.info(fmt.Sprintf("reserved %s for the heap to grow into huge pages", unit.Size(a.stats.Reserved.Len())))
		}
	}
	if collapse != nil {
		a.options.NoCollapse = true
		a.failed(collapse)
	}
	if ranges, err := own(a.fs); err != nil {
		if a.stats.Reserved.Len() == 0 && a.adaptive == nil {
			return err
		}
		a.failed(err)
	} else {
		a.stats.Ranges = ranges
	}
	return nil
}

// Stats returns what the advisor has done, and what it knows of the heap since its last look.
func (a *Advisor) Stats() Stats {
	if a == nil {
		return Stats{}
	}
	return a.published.Load().snapshot()
}

// Stop ends the advisor. Huge pages stay huge until they are released. Under THP policy
// madvise a reserve is then advised against huge pages: page faults and khugepaged make no
// more of them, as without the advisor, but others cannot collapse it either. Under always,
// memory that was advised against huge pages is advised to use them again. If this fails,
// [Stats].Err says so. Stop may be called more than once.
func (a *Advisor) Stop() {
	if a == nil {
		return
	}
	a.stop.Do(func() {
		close(a.quit)
		<-a.done
		if err := a.release(); err != nil {
			a.failed(fmt.Errorf("stop: %w", err))
		}
		a.publish()
		started.Store(false)
	})
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
		a.info(text)
	}
}

// warn keeps an error about the reserve, and logs it.
func (a *Advisor) warn(err error) {
	a.stats.Err = err
	a.options.Log.Warn("goheap: " + err.Error())
}

func (a *Advisor) info(text string) { a.options.Log.Info("goheap: " + text) }
