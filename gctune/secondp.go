package gctune

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/internal/system/cputime"
)

// On a single CPU the runtime has one P, and marks on it in slices of up to 10 ms (a
// fractional worker, which only sysmon preempts): every goroutine waits for that long, which
// is the tail of a server's latencies. With a second P the kernel shares the CPU between the
// thread that marks and the one that runs goroutines, and one that wakes up comes first. All
// the time a second P costs more than that is worth: threads wake each other, a fifth of the
// CPU time of a small request. So the program has it from shortly before a GC cycle until the
// cycle's end. It cannot be had later: runtime.GOMAXPROCS waits for a cycle that runs.

const (
	// secondPLive is the least live heap: a smaller one is marked in a few slices.
	secondPLive = 32 << 20
	// secondPAt is the part of the way from the live heap to its goal at which the program gets
	// its second P. The runtime begins a cycle at 0.7 at the earliest (minTriggerRatioDistance
	// in mgcpacer.go), and does so there on one P.
	secondPAt = 0.65
	// secondPBusy is the share of the CPU from which on the program is busy: while the GC runs,
	// the thread that marks may take half of it, a quarter with one P. What needs more than the
	// rest falls behind until the cycle has ended.
	secondPBusy = 0.5
	// secondPTick is how late the end of a cycle is noticed.
	secondPTick = 10 * time.Millisecond
)

// secondP gives a program on a single CPU a second P while the GC runs.
type secondP struct {
	off    bool
	logf   func(format string, args ...any)
	ends   chan cycleEnd // of cycles; the newest
	stop   chan struct{}
	done   sync.WaitGroup
	up     atomic.Bool   // there are two Ps
	raised atomic.Uint64 // cycles that ended with two Ps

	use cputime.Usage // of the goroutine that changes GOMAXPROCS

	// Of the goroutine that calls ended.
	begun bool
	last  uint64 // cycles
	seen  uint64 // of raised
}

// cycleEnd is what was known when a GC cycle had ended.
type cycleEnd struct {
	cycles    uint64 // complete, so far
	allocated uint64 // bytes, so far
	at        time.Time
}

func newSecondP(o *Options) *secondP {
	n, err := strconv.Atoi(os.Getenv("GOMAXPROCS"))
	set := err == nil && n > 0 // by the user
	return &secondP{off: !o.SecondP || set, logf: o.Logf, use: cputime.Usage{Least: 500 * time.Millisecond}, ends: make(chan cycleEnd, 1), stop: make(chan struct{})}
}

// ended takes note of the end of a GC cycle with so much live heap. It is called for the first
// look after each.
func (p *secondP) ended(e cycleEnd, live uint64) {
	if p.off || e.cycles == p.last {
		return
	}
	p.last = e.cycles
	if live < secondPLive || runtime.GOMAXPROCS(0) > 2 || !singleCPU() {
		return
	}
	if !p.begun {
		p.begun = true
		p.done.Add(1)
		go p.run()
	}
	select {
	case <-p.ends: // nobody took it
	default:
	}
	p.ends <- e
}

// shared reports whether the cycle that has ended last had a second P. It is called before
// ended.
func (p *secondP) shared() bool {
	up, n := p.up.Load(), p.raised.Load()
	was := p.seen
	p.seen = n
	return up || n != was
}

func (p *secondP) run() {
	defer p.done.Done()
	for {
		select {
		case <-p.stop:
			return
		case e := <-p.ends:
			for newer := &e; newer != nil; {
				newer = p.next(*newer)
			}
		}
	}
}

// close puts GOMAXPROCS back.
func (p *secondP) close() {
	close(p.stop)
	p.done.Wait()
}

// next sees to the cycle after one that has ended, and returns the next one if that ends
// meanwhile.
func (p *secondP) next(e cycleEnd) *cycleEnd {
	h := newHeapView(e)
	wait := secondPTick
	for {
		if cpu, ok := cputime.Process(); ok {
			p.use.Note(time.Now(), cpu)
		}
		if before := h.allocated; !h.read(e) {
			return nil
		} else if wait = h.wait(e, before, wait); wait == 0 {
			break
		}
		if more, newer := p.sleep(wait); !more {
			return newer
		}
	}
	if p.use.Share >= secondPBusy || runtime.GOMAXPROCS(0) != 1 { // the program has set it
		return nil
	}
	runtime.GOMAXPROCS(2)
	p.up.Store(true)
	defer func() {
		p.up.Store(false)
		if runtime.GOMAXPROCS(0) == 2 {
			runtime.SetDefaultGOMAXPROCS() // and the runtime follows the number of CPUs again
		}
	}()
	if !h.read(e) {
		return nil // it waited for a cycle that ran
	}
	if p.logf != nil && p.raised.Load() == 0 {
		p.logf("gctune: there is one CPU: GOMAXPROCS is 2 while the GC runs, so that goroutines wait less for it")
	}
	for wait = secondPTick; ; {
		before := h.allocated
		more, newer := p.sleep(wait)
		if newer != nil || more && !h.read(e) {
			p.raised.Add(1)
			return newer
		}
		if !more {
			return nil
		}
		if h.allocated == before { // nothing happens
			wait = min(2*wait, time.Second)
		} else {
			wait = secondPTick
		}
	}
}

// sleep reports whether there is more to do after a time: not where another cycle ends
// meanwhile.
func (p *secondP) sleep(d time.Duration) (more bool, newer *cycleEnd) {
	select {
	case <-p.stop:
		return false, nil
	case e := <-p.ends:
		return false, &e
	case <-time.After(d):
		return true, nil
	}
}

// heapView is how far the heap is on its way to the next cycle.
type heapView struct {
	samples   []metrics.Sample
	at        time.Time
	elapsed   time.Duration // between the last two readings
	allocated uint64        // bytes, so far
	objects   uint64        // bytes beyond the live heap: allocated since, or not swept
	growth    uint64        // bytes, from the live heap to the goal
}

func newHeapView(e cycleEnd) *heapView {
	h := &heapView{samples: make([]metrics.Sample, 5), at: e.at, allocated: e.allocated}
	for i, n := range []int{mCycles, mAllocs, mLive, mGoal, mObjects} {
		h.samples[i].Name = metricNames[n]
	}
	return h
}

// read is false if another cycle has ended.
func (h *heapView) read(e cycleEnd) bool {
	now := time.Now()
	h.elapsed, h.at = now.Sub(h.at), now
	metrics.Read(h.samples)
	value := func(i int) uint64 { return h.samples[i].Value.Uint64() }
	h.allocated, h.growth, h.objects = value(1), sub(value(3), value(2)), sub(value(4), value(2))
	return value(0) == e.cycles
}

// grown is how far the heap has grown since a cycle. The news of its end may have come late, when
// much had been allocated; and what it left is swept only in time.
func (h *heapView) grown(e cycleEnd) uint64 {
	return min(h.objects, 2*sub(h.allocated, e.allocated))
}

// wait is how long to wait until the next reading, 0 if the cycle may begin soon. before is
// what had been allocated at the last reading, and last how long ago that was to be.
func (h *heapView) wait(e cycleEnd, before uint64, last time.Duration) time.Duration {
	left := secondPAt*float64(h.growth) - float64(h.grown(e))
	if left <= 0 {
		return 0
	}
	recent := sub(h.allocated, before)
	if recent == 0 {
		return min(2*last, maxTick)
	}
	half := left / float64(recent) * float64(h.elapsed) / 2 // it may allocate faster soon
	return max(time.Duration(min(half, float64(time.Second))), secondPTick/2)
}
