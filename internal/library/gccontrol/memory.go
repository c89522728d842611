package gccontrol

import "math"

// headroom is what the runtime keeps of the memory limit: its heap goal is
// smaller by 3%, at least 1 MiB. See memoryLimitHeapGoal in mgcpacer.go.
const (
	headroom    = 0.03
	minHeadroom = 1 << 20
)

// margin is how far below the runtime's own heap goal under the memory limit
// GOGC stays. From 95% of the limit on, the runtime releases memory to the
// system while the program allocates, and faults it in again (see
// gcController.memoryLimit in mgcscavenge.go): with headroom, margin leaves that.
// Where that would be much of what can be allocated between two GC cycles,
// it is the lesser evil.
const (
	margin      = 0.98
	marginShare = 0.125
)

// UnknownMultiple bounds what is spent where nobody knows how much memory there
// is: the heap may grow to 1+4 times what is live.
// UnknownMultiple bounds the growth of the heap, in live heaps, where nothing is known of memory.
const UnknownMultiple = 4

// room is what the heap and its limit can be.
type room struct {
	// growth is how much may be allocated between two GC cycles.
	growth float64
	// goal is the heap goal that GOGC must not exceed.
	goal float64
	// limit is the memory limit for the runtime.
	limit int64
	// short is what the budget lacks for a live heap with the floor under it.
	short uint64
	known bool
}

// roomFor finds the room within the budget of a sample.
func (c *Controller) roomFor(s *Sample) room {
	if s.Budget == 0 && !c.userLimit {
		h := max(UnknownMultiple*(float64(s.Live)+float64(s.Scan)), 16*minHeap)
		return room{growth: h, goal: float64(s.Live) + h, limit: s.MemoryLimit}
	}
	r := room{known: true}
	// For the runtime: the process less what it does not know of.
	soft, net, now := math.MaxFloat64, math.MaxFloat64, math.MaxFloat64
	if s.Budget > 0 {
		// What is kept free for memory outside the runtime may be needed, too.
		now = float64(s.Budget) - float64(s.NonGo)
		soft = float64(s.Budget) - c.nonGo.claim(s)
		net = soft + float64(s.Reserve)
	}
	if c.userLimit {
		now = min(now, float64(s.MemoryLimit))
		soft, net = min(soft, float64(s.MemoryLimit)), min(net, float64(s.MemoryLimit))
	}
	live := float64(s.Live)
	r.goal = heapUnder(net, c.overhead)
	r.goal -= min((1-margin)*r.goal, marginShare*max(r.goal-live, 0))
	r.goal = max(min(r.goal, soft-c.overhead), 0)
	r.growth = max(r.goal-live, 0)

	need := limitFor(live+c.floor(s), c.overhead)
	if need > now {
		r.short = bytes(need - now)
	}
	if c.userLimit {
		r.limit = s.MemoryLimit
		return r
	}
	// The limit gives way to the floor, up to what would have the process
	// killed: from there on the runtime's own bound on the cost is all there is.
	limit := max(net, need)
	if s.Hard > 0 {
		limit = min(limit, max(float64(s.Hard)-float64(s.NonGo), now))
	}
	r.limit = c.steadyLimit(int64(bytes(max(limit, minHeap))))
	return r
}

// hold keeps the most overhead of late: it swings with the GC cycles, and the
// room must be there at its worst. It forgets within a few GC cycles: when most
// of a heap dies, what is left of it fills many pages for a moment, until
// they are used again, and a program in phases has no time to wait.
func (c *Controller) hold(s *Sample, fresh bool) {
	if fresh {
		c.overhead -= c.overhead / 4
	}
	c.overhead = max(c.overhead, float64(s.Overhead))
}

// floor is the least growth between two GC cycles that pays: by the floor of
// GOGC, and by the share that the GC may cost, but no more than a quarter of
// the live heap for that: some programs collect at a higher cost than MaxCost all
// their lives.
func (c *Controller) floor(s *Sample) float64 {
	scanned := float64(s.Live) + float64(s.Scan)
	least := scanned * float64(c.p.Floor) / 100
	return max(least, min(c.est.growthFor(c.p.MaxCost), scanned/4))
}

// heapUnder is the runtime's heap goal under a memory limit.
func heapUnder(limit float64, overhead float64) float64 {
	g := limit - overhead
	return max(min(g*(1-headroom), g-minHeadroom), 0)
}

// limitFor is the memory limit under which the runtime's heap goal is g.
func limitFor(g float64, overhead float64) float64 {
	return max(g/(1-headroom), g+minHeadroom) + overhead
}

// steadyLimit keeps the limit as it is while what is wanted differs little: the
// rest of the process is never quite still. It is never above what is wanted.
func (c *Controller) steadyLimit(want int64) int64 {
	const band, gap = 0.98, 0.998
	if have := c.asked.limit; have <= want && float64(have) >= band*float64(want) {
		return have
	}
	return max(int64(gap*float64(want)), minHeap)
}
