package arena

import (
	"sync/atomic"
	"time"
)

// lately is what the default bound of idle memory learns. A program that fills an
// arena, frees it and fills the next one would have its released memory and asked
// for again each time (if it has pointers, each time that a GC cycle comes between),
// at the price of page faults and zeroing. So what was asked for again soon after
// it was released is kept the next time, for as long as it is needed every other
// moment.
var lately recent

// moment is long for a request and short for a person.
const moment = 250 * time.Millisecond

type recent struct {
	gone   atomic.Int64 // bytes that were released and not asked for again
	when   atomic.Int64 // the last time, in ns
	regret atomic.Int64 // bytes that were asked for again, and are kept now
	least  atomic.Int64 // that were idle in this moment
	armed  atomic.Bool  // look will be called
}

// settled is the bound where nothing is to be regretted. With as much as is in
// use the memory of arenas follows use at no more than twice of it, as the heap
// does with GOGC=100.
func settled() int64 { return max(defaultIdleBytes, inUseBytes.Load()) }

// bound is how much may be idle by default.
func (r *recent) bound() int64 { return settled() + r.regret.Load() }

// gaveBack says that n bytes of large slabs were released for the bound's sake.
func (r *recent) gaveBack(n int64) {
	r.gone.Add(n)
	r.when.Store(time.Now().UnixNano())
}

// again says that a large slab of n bytes was asked for before the GC had freed it:
// there is nothing to regret.
func (r *recent) again(n int64) { r.gone.Add(-min(n, r.gone.Load())) }

// missed says that a large slab of n bytes had to be made.
func (r *recent) missed(n int64) {
	gone := r.gone.Load()
	if gone <= 0 {
		return
	}
	now := time.Now().UnixNano()
	if now-r.when.Load() > int64(4*moment) {
		r.gone.Store(0)
		return
	}
	r.when.Store(now) // a large arena may be filled slowly
	n = min(n, gone)
	r.gone.Add(-n)
	r.regret.Add(n)
}

// took says that a large slab was idle and is in use now.
func (r *recent) took() {
	idle := idleBytes.Load()
	for least := r.least.Load(); idle < least; least = r.least.Load() {
		if r.least.CompareAndSwap(least, idle) {
			return
		}
	}
}

// wake makes sure that what is idle beyond the settled bound is looked at.
func (r *recent) wake() {
	if idle := idleBytes.Load(); idle > settled() && !r.armed.Load() && r.armed.CompareAndSwap(false, true) {
		r.least.Store(idle)
		time.AfterFunc(moment, r.look)
	}
}

// look releases what nobody needed in the moment that ends.
func (r *recent) look() {
	if unused := min(r.least.Load(), idleBytes.Load()) - settled(); unused > 0 {
		r.regret.Store(max(0, r.regret.Load()-unused))
		tended.shrink(r.bound())
	}
	r.armed.Store(false)
	r.wake()
}

// shrink leaves slabs of the depots to the GC, until no more than most bytes are
// idle.
func (l *depotList) shrink(most int64) {
	l.mu.Lock()
	depots := l.depots
	l.mu.Unlock()
	for _, d := range depots {
		if idleBytes.Load() <= most {
			return
		}
		d.shrink(most)
	}
}

func (d *depot[T]) shrink(most int64) {
	var out dropped[T]
	for c := class(numClasses - 1); c > 0; c-- {
		for i := range d.shards {
			sh := &d.shards[i]
			sh.mu.Lock()
			for idleBytes.Load() > most {
				l := sh.pop(c)
				if l == nil {
					break
				}
				sh.settle()
				out.add(l)
			}
			sh.mu.Unlock()
		}
	}
	out.leave(d, true)
}
