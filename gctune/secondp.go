package gctune

import (
	"log/slog"
	"math"
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// SecondP says when a program that may run on one CPU only has a second P: GOMAXPROCS 2.
//
// With one P, requests wait for the GC. After a cycle the background sweeper yields into the
// global run queue after every ten spans, and the scheduler takes it from there before it looks
// at the network (bgsweep and findRunnable of Go 1.26, go.dev/issue/56060): as long as nothing
// else can run, requests wait until the heap is swept, or until sysmon looks at the network,
// after 10 ms. While the GC marks, it does so in slices of up to 10 ms (a fractional worker,
// which only sysmon preempts). With two Ps the kernel shares the CPU between threads, and one
// that wakes up comes first. A permanent second P would cost too much: threads that wake each
// other take a fifth of the CPU time of a small request.
type SecondP int

const (
	// SecondPOff never adds a second P.
	SecondPOff SecondP = iota
	// SecondPSweep adds a second P while the heap is swept after each GC cycle (0.1 s and more
	// for each GiB), if the program uses less than three quarters of its CPU.
	SecondPSweep
	// SecondPGC adds it from shortly before a GC cycle until the heap is swept, if the program
	// uses less than half of its CPU and has 32 MiB or more live; otherwise it works as
	// SecondPSweep. A cycle that cannot be foreseen (runtime.GC, a burst) marks with one P:
	// GOMAXPROCS cannot change while a cycle runs.
	SecondPGC
)

const (
	// secondPGoal is the least heap goal: a smaller heap is swept in a few milliseconds.
	secondPGoal = 64 << 20
	// secondPLive is the least live heap, to mark with a second P: a smaller one is marked in a
	// few slices.
	secondPLive = 32 << 20
	// secondPAt is the part of the way from the live heap to its goal at which the program gets
	// its second P. The runtime begins a cycle at 0.7 at the earliest (minTriggerRatioDistance
	// in mgcpacer.go), and does so there on one P.
	secondPAt = 0.65
	// From these shares of the CPU on the program is too busy, to mark and to sweep with a second
	// P: the thread of the GC may take half of the CPU then. What needs more than the rest falls
	// behind until that has ended, and sweeping is short.
	secondPMarks  = 0.5
	secondPSweeps = 0.75
	// secondPTick is how late the end of a cycle or of sweeping is noticed.
	secondPTick = 10 * time.Millisecond
	// secondPMost is how long sweeping has a second P at most: a GiB took 0.1 s.
	secondPMost = time.Second
)

// secondP gives a program on a single CPU a second P.
type secondP struct {
	when   SecondP
	log    *slog.Logger
	ended  chan struct{} // a GC cycle has ended, and sweeping begins
	stop   chan struct{}
	done   sync.WaitGroup
	up     atomic.Bool   // there are two Ps
	used   atomic.Uint64 // the share of the CPU that the program used of late, as bits
	marks  atomic.Bool   // there are two Ps for a cycle to mark with
	marked atomic.Uint64 // cycles that have marked with two Ps
	raised atomic.Uint64 // cycles for which there were two
	said   bool

	// Of the goroutine that calls look.
	begun bool
	seen  uint64 // of marked
}

func newSecondP(o *Options) *secondP {
	p := &secondP{when: o.SecondP, log: o.Log, ended: make(chan struct{}, 1), stop: make(chan struct{})}
	p.used.Store(math.Float64bits(1))
	if n, err := strconv.Atoi(os.Getenv("GOMAXPROCS")); err == nil && n > 0 {
		p.when = SecondPOff // the user has set it
	}
	return p
}

// extra is what a sample has to know of second Ps.
type extra struct {
	now    bool // there is one
	marked bool // the last GC cycle has marked with one
}

// extra is called once for each sample.
func (p *secondP) extra() extra {
	marks, n := p.marks.Load(), p.marked.Load()
	was := p.seen
	p.seen = n
	return extra{now: p.up.Load(), marked: marks || n != was}
}

// look takes note of the share of the CPU that the program used of late, and of its heap goal.
func (p *secondP) look(used float64, goal uint64) {
	p.used.Store(math.Float64bits(used))
	if p.when == SecondPOff || p.begun || goal < secondPGoal || !singleCPU() {
		return
	}
	p.begun = true
	p.done.Add(1)
	go p.run()
}

func (p *secondP) run() {
	defer p.done.Done()
	h := newHeapView()
	for p.cycle(h) {
	}
}

// close puts GOMAXPROCS back.
func (p *secondP) close() {
	close(p.stop)
	p.done.Wait()
}

// cycle sees to the next GC cycle, and reports whether there is more to do.
func (p *secondP) cycle(h *heapView) (more bool) {
	defer p.lower()
	// Before the finalizer is set: a cycle that ends in between is news then, not taken for one
	// that was known, for which no news would come again.
	h.begin()
	// Finalizers run as sweeping begins; cleanups, once it is done.
	runtime.SetFinalizer(&sentinel{}, func(*sentinel) {
		select {
		case p.ended <- struct{}{}:
		default:
		}
	})
	if p.when == SecondPGC && h.live >= secondPLive {
		more = p.mark(h)
	} else {
		more = p.sleep(h, 0)
	}
	more = more && p.sweep(h)
	if more && p.up.Load() {
		p.raised.Add(1)
	}
	return more
}

// mark gets a second P shortly before a GC cycle, and waits for its end.
func (p *secondP) mark(h *heapView) (more bool) {
	for wait := secondPTick; ; {
		before := h.allocated
		h.read()
		if h.ended() {
			return true
		}
		if wait = h.wait(before, wait); wait == 0 {
			break
		}
		if !p.sleep(h, wait) {
			return false
		}
	}
	if !p.raise(secondPMarks) {
		return p.sleep(h, 0)
	}
	if h.read(); h.ended() {
		return true // it waited for a cycle that ran
	}
	p.marks.Store(true)
	defer p.marks.Store(false)
	for wait := secondPTick; ; {
		before := h.allocated
		if !p.sleep(h, wait) {
			return false
		}
		if h.read(); h.ended() {
			p.marked.Add(1)
			return true
		}
		if h.allocated == before { // nothing happens
			wait = min(2*wait, time.Second)
		} else {
			wait = secondPTick
		}
	}
}

// sweep has a second P until the heap is swept.
func (p *secondP) sweep(h *heapView) (more bool) {
	h.begin()
	if h.live+h.objects < secondPGoal || !p.raise(secondPSweeps) {
		return true
	}
	for begin := h.at; !h.swept() && !h.ended() && h.at.Sub(begin) < secondPMost; h.read() {
		if !p.sleep(h, secondPTick) {
			return false
		}
	}
	return true
}

// raise reports whether there are two Ps now, for a program that is not too busy for it.
func (p *secondP) raise(busy float64) bool {
	if p.up.Load() {
		return true
	}
	if math.Float64frombits(p.used.Load()) >= busy || !singleCPU() {
		return false
	}
	if runtime.GOMAXPROCS(0) != 1 { // the program has set it
		return false
	}
	p.up.Store(true)
	runtime.GOMAXPROCS(2)
	if p.log != nil && !p.said {
		p.said = true
		what := "the heap is swept after a GC cycle"
		if p.when == SecondPGC {
			what = "the GC runs"
		}
		p.log.Info("gctune: there is one CPU: GOMAXPROCS is 2 while " + what + ", so that goroutines wait less for it")
	}
	return true
}

// lower puts GOMAXPROCS back, unless the program has set it.
func (p *secondP) lower() {
	if !p.up.Load() {
		return
	}
	if runtime.GOMAXPROCS(0) == 2 {
		runtime.SetDefaultGOMAXPROCS() // and the runtime follows the number of CPUs again
	}
	p.up.Store(false)
}

// sleep waits for a time, or until a GC cycle ends; for 0, for that alone. It reports whether
// there is more to do.
func (p *secondP) sleep(h *heapView, d time.Duration) (more bool) {
	var timeout <-chan time.Time
	if d > 0 {
		timeout = time.After(d)
	}
	for {
		select {
		case <-p.stop:
			return false
		case <-p.ended:
			// The news may be of a cycle that was noticed before.
			if h.read(); h.ended() {
				return true
			}
		case <-timeout:
			return true
		}
	}
}

// heapView is how far the heap is on its way from the end of a GC cycle to the next.
type heapView struct {
	samples   []metrics.Sample
	at        time.Time
	elapsed   time.Duration // between the last two readings
	cycles    uint64        // complete, so far
	allocated uint64        // bytes, so far
	live      uint64        // bytes, of the last cycle
	objects   uint64        // bytes beyond the live heap: allocated since, or not swept
	growth    uint64        // bytes, from the live heap to the goal

	from struct{ cycles, allocated uint64 } // what they were
}

func newHeapView() *heapView {
	h := &heapView{samples: make([]metrics.Sample, 5)}
	for i, n := range []int{mCycles, mAllocs, mLive, mGoal, mObjects} {
		h.samples[i].Name = metricNames[n]
	}
	return h
}

// begin reads the heap at the beginning of its way.
func (h *heapView) begin() {
	h.read()
	h.from.cycles, h.from.allocated = h.cycles, h.allocated
}

func (h *heapView) read() {
	now := time.Now()
	h.elapsed, h.at = now.Sub(h.at), now
	metrics.Read(h.samples)
	value := func(i int) uint64 { return h.samples[i].Value.Uint64() }
	h.cycles, h.allocated, h.live = value(0), value(1), value(2)
	h.growth, h.objects = less(value(3), h.live), less(value(4), h.live)
}

// ended reports whether a GC cycle has ended on the way.
func (h *heapView) ended() bool { return h.cycles != h.from.cycles }

// swept reports whether the heap is swept, where the way began as that did: then it has what is
// live and what was allocated since, but for what the beginning missed.
func (h *heapView) swept() bool {
	return h.objects <= less(h.allocated, h.from.allocated)+(h.live+h.objects)/200
}

// grown is how far the heap has grown on its way. The news of its beginning may have come late,
// when much had been allocated; and what the last cycle left is swept only in time.
func (h *heapView) grown() uint64 {
	return min(h.objects, 2*less(h.allocated, h.from.allocated))
}

// longestWait is for a heap that does not grow.
const longestWait = 30 * time.Second

// wait is how long to wait until the next reading, 0 if the cycle may begin soon. before is
// what had been allocated at the last reading, and last how long ago that was to be.
func (h *heapView) wait(before uint64, last time.Duration) time.Duration {
	left := secondPAt*float64(h.growth) - float64(h.grown())
	if left <= 0 {
		return 0
	}
	recent := less(h.allocated, before)
	if recent == 0 {
		return min(2*last, longestWait)
	}
	half := left / float64(recent) * float64(h.elapsed) / 2 // it may allocate faster soon
	return max(time.Duration(min(half, float64(time.Second))), secondPTick/2)
}
