package arena

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// tended are the depots. After each GC cycle, what lay idle in one since the
// GC cycle before is left to the GC: a pool empties when it is idle.
var tended depotList

type depotList struct {
	mu     sync.Mutex
	depots []tender
	awake  atomic.Bool // tend runs after the next GC cycle
}

type tender interface {
	// tend drops the slabs that were not needed since the last call and
	// reports whether any are left.
	tend() bool
	// shrink drops slabs, the large ones first, until no more than most bytes
	// are idle.
	shrink(most int64)
}

func (l *depotList) add(d tender) {
	l.mu.Lock()
	l.depots = append(l.depots, d)
	l.mu.Unlock()
}

// wake makes tend run after the next GC cycle.
func (l *depotList) wake() {
	if !l.awake.Load() && l.awake.CompareAndSwap(false, true) {
		l.arm()
	}
}

// bell is an object whose end says that a GC cycle has been. It has a
// pointer so that it shares no memory with other small objects.
type bell struct{ _ *bell }

func (l *depotList) arm() {
	runtime.AddCleanup(new(bell), func(l *depotList) { l.tend() }, l)
}

func (l *depotList) tend() {
	l.awake.Store(false) // before looking: what comes later wakes again
	l.mu.Lock()
	depots := l.depots
	l.mu.Unlock()
	left := false
	for _, d := range depots {
		left = d.tend() || left
	}
	if left {
		l.wake()
	}
}

func (d *depot[T]) tend() (left bool) {
	left = d.leftovers.tend()
	for i := range d.shards {
		sh := &d.shards[i]
		left = sh.cool() || left
		sh.mu.Lock()
		p := &sh.stock
		for range sh.stocks.trim() {
			p = &(*p).idle
		}
		for s := *p; s != nil; s = s.idle {
			sh.tell(-s.bytes)
		}
		*p = nil
		left = left || sh.stocks.n > 0
		for c := range sh.lists {
			l := &sh.lists[c]
			if l.n == 0 {
				continue
			}
			// The least recently used ones are at the end.
			p := &l.head
			for range l.trim() {
				p = &(*p).link
			}
			for s := *p; s != nil; s = s.link {
				sh.remove(s)
			}
			*p = nil
			left = left || l.n > 0
		}
		sh.settle()
		sh.mu.Unlock()
	}
	return left
}

// cool drops the hot stock if it was not needed since the last call and reports
// whether there is one left.
func (sh *shard[T]) cool() (left bool) {
	s := sh.takeHot() // whoever has a stock may change it
	if s == nil || s.unused {
		return false
	}
	s.unused = true
	// If another one was put meanwhile, this one is left to the GC.
	sh.hot.CompareAndSwap(nil, s)
	return true
}

// trim says how many to keep: those that were needed since the last call.
func (t *tally) trim() int32 {
	t.n -= t.low
	t.low = t.n
	return t.n
}
