package gccontrol

import (
	"math"
	"time"
)

// program is a Go program as far as the pacer sees it. Its functions are of the
// time since the start.
type program struct {
	live     func(t time.Duration) float64 // reachable bytes
	mutator  func(h float64) float64       // CPU-seconds for each allocated byte; h is the growth between GC cycles
	busy     float64                       // part of the wall time in which the program runs; 1 by default
	perByte  float64                       // CPU-seconds to mark a byte
	perCycle float64                       // CPU-seconds of each GC cycle besides
	procs    float64
	scan     uint64
	rest     func(t time.Duration) float64
	budget   func(t time.Duration) float64
	open     bool // nothing limits the process
	reserve  float64
	hard     float64
	pace     func(t time.Duration) float64 // factor on busy; nil for 1
	noise    func() float64                // factor on the mutator's time, different for each step
	work     bool
	gogc     func(t time.Duration, now int) int // what the user sets; nil for nothing
}

func always(v float64) func(time.Duration) float64 {
	return func(time.Duration) float64 { return v }
}

const (
	mb = 1 << 20
	gb = 1 << 30
)

// world runs a program under a controller by the rules of the runtime's pacer.
type world struct {
	program
	c *Controller

	s, last  Sample // last is what the controller saw
	d        Decision
	heap     float64 // allocated and not collected
	looked   time.Duration
	pause    time.Duration // until the next look
	changes  []gogcChange
	worst    float64 // most by which the process exceeded its budget while there was room
	overHard float64
	grace    [2]time.Duration // between these an excess is not the controller's fault
}

type gogcChange struct {
	at    time.Duration
	gogc  int
	audit bool
}

func simulate(p program, params Params) *world {
	if p.procs == 0 {
		p.procs = 2
	}
	if p.busy == 0 {
		p.busy = 1
	}
	if p.rest == nil {
		p.rest = always(8 * mb)
	}
	if p.mutator == nil {
		p.mutator = func(float64) float64 { return 1e-9 }
	}
	if p.noise == nil {
		p.noise = func() float64 { return 1 }
	}
	if p.budget == nil {
		p.budget = always(0)
	}
	w := &world{program: p, c: NewController(params)}
	w.pause = Tick
	w.s = Sample{GOGC: base, MemoryLimit: math.MaxInt64, HasWork: p.work, Scan: p.scan}
	w.look()
	return w
}

// look takes a sample and puts the decision in force.
func (w *world) look() {
	t := w.s.Time
	w.s.NonGo, w.s.Budget, w.s.Reserve, w.s.Hard = bytes(w.rest(t)), bytes(w.budget(t)), bytes(w.reserve), bytes(w.hard)
	w.s.Limited, w.s.CPUs = !w.open, int(w.procs)
	w.s.Overhead = bytes(w.overhead())
	w.s.Committed, w.s.Releasable = bytes(w.heap+w.overhead()), bytes(w.heap-float64(w.s.Live))
	if w.gogc != nil {
		w.s.GOGC = w.gogc(t, w.s.GOGC)
	}
	before, audit := w.s.GOGC, w.d.Audit
	w.d = w.c.Next(w.s)
	w.pause = NextLook(w.pause, &w.last, &w.s, &w.d, base)
	w.looked, w.last = w.s.Time, w.s
	w.s.GOGC, w.s.MemoryLimit = w.d.GOGC, w.d.MemoryLimit
	if before != w.d.GOGC {
		w.changes = append(w.changes, gogcChange{t, w.d.GOGC, audit || w.d.Audit})
	}
}

// overhead is what the heap takes besides its objects. The runtime knows it at any
// time, the controller when it looks.
func (w *world) overhead() float64 { return 2*mb + 0.03*w.heap }

// goal is the runtime's.
func (w *world) goal() float64 {
	g := float64(goal(w.s.GOGC, w.s.Live, w.s.Scan))
	g = min(g, heapUnder(float64(w.s.MemoryLimit), w.overhead()))
	return max(g, float64(w.s.Live)+64<<10)
}

// until runs the program up to a time.
func (w *world) until(end time.Duration) *world {
	for w.s.Time < end {
		w.cycle()
	}
	return w
}

// cycles runs the program for some GC cycles.
func (w *world) cycles(n int) *world {
	for range n {
		w.cycle()
	}
	return w
}

func (w *world) advance(cpu float64) {
	wall := cpu / w.procs / w.rate()
	w.s.CPU += time.Duration(cpu * 1e9)
	w.s.Time += time.Duration(wall * 1e9)
}

// rate is the part of the time in which the program runs now.
func (w *world) rate() float64 {
	if w.pace == nil {
		return w.busy
	}
	return w.busy * w.pace(w.s.Time)
}

func (w *world) cycle() {
	start := float64(w.s.Live)
	w.heap = max(w.heap, start)
	u := w.mutator(w.goal() - start)
	var spent float64
	for w.heap < w.goal() || spent < w.markCost() { // the runtime's limiter: no more than half for the GC
		step := w.goal() - w.heap
		if step <= 0 { // beyond the goal, for the limiter
			step = w.markCost() / u / 8
		}
		step = min(max(step, 64<<10), max(0.1*w.procs*w.rate()/u, 64<<10))
		w.heap += step
		w.s.Allocated += bytes(step)
		w.s.Work += bytes(step) >> 10
		spent += step * u
		w.advance(step * u * w.noise())
		w.check()
		if w.pause > 0 && w.s.Time-w.looked >= w.pause {
			w.look()
		}
	}
	mark := w.markCost()
	w.advance(mark)
	w.s.GCTime += time.Duration(mark * 1e9)
	w.s.Cycles++
	w.s.Live = bytes(w.live(w.s.Time))
	w.heap = float64(w.s.Live)
	w.check()
	w.look()
}

func (w *world) markCost() float64 {
	return w.perCycle + w.perByte*(w.live(w.s.Time)+float64(w.scan))
}

// check notes by how much the process exceeds what it may use, while what is
// live leaves room: twice as much would fit.
func (w *world) check() {
	if w.s.Time >= w.grace[0] && w.s.Time < w.grace[1] {
		return
	}
	t := w.s.Time
	fixed := w.overhead() + w.rest(t)
	live := max(float64(w.s.Live), w.live(t))
	if b := w.budget(t); b > 0 && 2*live+8*mb+fixed < 0.9*b {
		w.worst = max(w.worst, w.heap+fixed-b)
	}
	if w.hard > 0 && 1.2*live+8*mb+fixed < w.hard {
		w.overHard = max(w.overHard, w.heap+fixed-w.hard)
	}
}

// growth is what is allocated between two GC cycles now.
func (w *world) growth() float64 { return w.goal() - float64(w.s.Live) }

// cost is the share of the CPU time that the GC really takes.
func (w *world) cost() float64 {
	h := w.growth()
	m := w.markCost()
	return m / (m + h*w.mutator(h))
}

// since counts the changes of GOGC after a time, those of audits apart.
func (w *world) since(t time.Duration) (changes, audits int) {
	for _, c := range w.changes {
		switch {
		case c.at < t:
		case c.audit:
			audits++
		default:
			changes++
		}
	}
	return changes, audits
}
