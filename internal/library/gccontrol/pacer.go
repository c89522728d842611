package gccontrol

import "math"

// minHeap is the least heap goal of the runtime at GOGC=100.
const minHeap = 4 << 20

// goal is the heap goal that the runtime derives from GOGC: see commit in its
// mgcpacer.go. The memory limit may lower it.
func goal(gogc int, live, scan uint64) uint64 {
	if gogc < 0 {
		return math.MaxUint64
	}
	f := float64(gogc) / 100
	return bytes(max(minHeap*f, float64(live)+(float64(live)+float64(scan))*f))
}

// growth is how much may be allocated from one GC cycle to the next.
func growth(gogc int, live, scan uint64) float64 {
	g := goal(gogc, live, scan)
	if g <= live {
		return 0
	}
	return float64(g - live)
}

// gogcFor is the GOGC for a growth, the inverse of the function growth. It is
// rounded down.
func gogcFor(h float64, live, scan uint64, ceiling int) int {
	// The runtime takes the larger of two goals, so the smaller percentage
	// that reaches this one is enough.
	percent := 100 * (float64(live) + h) / minHeap
	if s := float64(live) + float64(scan); s > 0 {
		percent = min(percent, 100*h/s)
	}
	return int(min(max(percent, base), float64(ceiling)))
}

// bytes turns a computed size into one that fits.
func bytes(v float64) uint64 {
	switch {
	case !(v > 0):
		return 0
	case v >= math.MaxInt64:
		return math.MaxInt64
	}
	return uint64(v)
}

// estimate is the model of the program: what GC costs follows from it
// for any growth of the heap.
type estimate struct {
	windows int
	mark    float64 // CPU seconds of a GC cycle
	mutator float64 // CPU-seconds of the program itself for each allocated byte
	rate    float64 // bytes allocated per second
}

// share is the GC share of CPU time when a cycle comes
// after every h allocated bytes.
func (e *estimate) share(h float64) float64 {
	if e.windows == 0 || e.mark <= 0 {
		return 0
	}
	if h <= 0 {
		return 1
	}
	return e.mark / (e.mark + e.mutator*h)
}

// growthFor is the inverse of share.
func (e *estimate) growthFor(share float64) float64 {
	if e.windows == 0 || e.mutator <= 0 || e.mark <= 0 {
		return 0
	}
	return e.mark / e.mutator * (1 - share) / share
}

// growthWorth is the growth at which one more byte saves as much CPU time as a byte is
// worth, if a CPU is worth that many of them: GC takes mark*rate/h CPUs.
func (e *estimate) growthWorth(perCPU float64) float64 {
	return math.Sqrt(max(e.mark*e.rate, 0) * perCPU)
}

// add takes a window in: what happened between two samples.
func (e *estimate) add(from, to *Sample) {
	cycles, forced := sub(to.Cycles, from.Cycles), sub(to.Forced, from.Forced)
	allocated := float64(sub(to.Allocated, from.Allocated))
	elapsed := (to.Time - from.Time).Seconds()
	cpu, gc := (to.CPU - from.CPU).Seconds(), max((to.GCTime-from.GCTime).Seconds(), 0)
	// Too little to divide by says nothing; GC cycles that the program asks
	// for are not spared by a larger heap.
	if cycles == 0 || forced >= cycles || allocated < 64<<10 || elapsed <= 0 || cpu <= 0 {
		return
	}
	// The runtime's clock goes on for a thread that waits for a processor, the
	// kernel's account of the process does not: on a crowded machine they do
	// not agree.
	mutator := max(cpu-gc, cpu/10)
	now := estimate{mark: gc / float64(cycles), mutator: mutator / allocated, rate: allocated / elapsed}
	const weight = 0.5
	if e.windows == 0 {
		*e = now
	} else {
		e.mark += weight * (now.mark - e.mark)
		e.mutator += weight * (now.mutator - e.mutator)
		e.rate += weight * (now.rate - e.rate)
	}
	e.windows++
}

// sub is a-b, or 0 for a count that went backwards.
func sub(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}
