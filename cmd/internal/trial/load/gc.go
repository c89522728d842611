package load

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

// What the heap may grow by while the GC is held: what the requests of a load allocate, most of
// it in net/http, within bounds.
const (
	heldEach  = 8 << 10
	leastHeld = 64 << 20
	mostHeld  = 1 << 30
)

// holds are the loads that hold the GC now, and the GOGC from before the first.
var holds struct {
	sync.Mutex
	n, before int
}

// HoldGC runs the GC of this process, and then keeps it from running while it sends a load, or
// until the heap has grown by 1 GiB: for a generator that is not its own server. A GC cycle of
// the generator takes CPU time from the requests that are due, and on one CPU, with two or three
// cycles in a load of some seconds, more than 1% of them start late. GOGC=off stays off, and
// GOMEMLIMIT holds. The last release puts GOGC back.
func HoldGC(o *Options) (release func()) {
	requests := o.Rate * (o.Warmup + o.Duration).Seconds()
	growth := uint64(min(max(requests*heldEach, leastHeld), mostHeld))
	holds.Lock()
	defer holds.Unlock()
	runtime.GC()
	before := debug.SetGCPercent(-1)
	if holds.n++; holds.n == 1 {
		holds.before = before
	}
	if before >= 0 {
		live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(live)
		const least = 4 << 20 // of the heap that the runtime takes a percentage of
		debug.SetGCPercent(max(before, int(100*growth/max(live[0].Value.Uint64(), least))))
	}
	return func() {
		holds.Lock()
		defer holds.Unlock()
		if holds.n--; holds.n == 0 {
			debug.SetGCPercent(holds.before)
		}
	}
}
