package arena

import (
	"iter"
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A depot holds the idle slabs of one type for all arenas of the process. Those of
// stocks are all zero. The others are as their arena left them, and are cleared when
// they are taken: in the cache of who uses them, and not at all if nobody does. What they
// point to lives on meanwhile, until the second tend at the latest.
//
// A late write, by a pointer that was kept past Free, thus meets a slab in one of three
// states, in each of which the GC sees it as a store to a value of the slab's type:
// it lies in the depot, and what was written is cleared when the slab is taken; the taker
// clears it at this moment, which is a race, or has it already, and finds a wrong value. The
// clearing is the compiler's for the type: its write barrier and its stores are not
// parted by a GC phase, so what is overwritten while the GC marks is shaded, and
// what was written meanwhile was shaded by the writer.
type depot[T any] struct {
	size     uintptr // of an element
	pointers bool    // an element holds pointers
	first    class   // the smallest slab
	shards   []shard[T]

	// at is where a processor finds its shard, which it put there last. A
	// sync.Pool is what Go has for want of a processor's number; should two
	// find the same, that costs time only.
	at   sync.Pool
	next atomic.Uint32 // the shard for a processor that finds none

	leftovers leftovers[T]
}

// depots has the *depot[T] of each reflect.Type.
var depots sync.Map

// idleBytes is how much is in all depots, but for what the shards have not told yet and
// what is in their hot stocks (each at most quantum). It has a cache line of its own: all
// processors write to it.
var idleBytes struct {
	_ [64]byte
	atomic.Int64
	_ [64]byte
}

// largeIdle is what of that is in large slabs, all told.
var largeIdle atomic.Int64

const (
	// quantum is up to how much more may be idle than a shard has told,
	quantum = 16 << 10
	// and lag is how much less. Arenas that come and go take and put the same again and again.
	lag = 256 << 10
)

// shard is a part of a depot with a lock of its own. Each processor has one, so
// that what it freed last, and has in its cache, is what it gets.
type shard[T any] struct {
	// hot is a small stock that is taken and put back without the lock. A goroutine
	// that makes one small arena after another needs no more.
	hot    atomic.Pointer[stock[T]]
	mu     sync.Mutex
	stocks tally
	stock  *stock[T] // the top of a stack
	lists  [numClasses]list[T]
	untold int64
	_      [64]byte // neighbors are on other cache lines
}

// list is a stack of slabs of one class.
type list[T any] struct {
	tally
	head *slab[T]
}

// tally says how many there are on a stack of slabs or stocks.
type tally struct {
	n   int32
	low int32 // the least n since the last GC cycle
}

func (t *tally) push() { t.n++ }

func (t *tally) pop() {
	t.n--
	t.low = min(t.low, t.n)
}

// nearDepots has depots by the address of their type: two loads, where depots takes
// ten times as long. A type whose two places are taken is found in depots.
var nearDepots [512]atomic.Pointer[nearDepot]

type nearDepot struct{ depot tender }

func near(t reflect.Type) (place, other *atomic.Pointer[nearDepot]) {
	// Safety: only the bits of the address matter. A type that is made at run time is
	// kept by what has it as a type argument.
	p := (*[2]uintptr)(unsafe.Pointer(&t))[1]
	i := (p>>5 ^ p>>14) % uintptr(len(nearDepots))
	return &nearDepots[i], &nearDepots[i^1]
}

func depotOf[T any]() *depot[T] {
	place, other := near(reflect.TypeFor[T]())
	if n := place.Load(); n != nil {
		if d, ok := n.depot.(*depot[T]); ok {
			return d
		}
	}
	if n := other.Load(); n != nil {
		if d, ok := n.depot.(*depot[T]); ok {
			return d
		}
	}
	d := findDepot[T]()
	if place.Load() == nil || other.Load() == nil {
		if n := (&nearDepot{d}); !place.CompareAndSwap(nil, n) {
			other.CompareAndSwap(nil, n)
		}
	}
	return d
}

// findDepot is depotOf where the depot is not near.
func findDepot[T any]() *depot[T] {
	t := reflect.TypeFor[T]()
	if d, ok := depots.Load(t); ok {
		return d.(*depot[T])
	}
	d := &depot[T]{size: t.Size(), pointers: hasPointers(t)}
	n := 1
	for n < runtime.GOMAXPROCS(0) && n < 64 {
		n *= 2
	}
	d.shards = make([]shard[T], n)
	if d.size > 0 {
		d.first = d.least(1)
	}
	d.at.New = func() any { return &d.shards[int(d.next.Add(1))&(len(d.shards)-1)] }
	actual, loaded := depots.LoadOrStore(t, d)
	if !loaded {
		tended.add(d)
	}
	return actual.(*depot[T])
}

// hasPointers reports whether values of type t hold pointers, that is whether
// the GC looks at them.
func hasPointers(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr,
		reflect.Float32, reflect.Float64, reflect.Complex64, reflect.Complex128:
		return false
	case reflect.Array:
		return t.Len() > 0 && hasPointers(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if hasPointers(t.Field(i).Type) {
				return true
			}
		}
		return false
	}
	return true
}

// least returns the smallest class with n elements. There is one: callers
// compare n with most first.
func (d *depot[T]) least(n int) class {
	c := classAbove(uintptr(n) * d.size)
	for c.elems(d.size, d.pointers) < n {
		c++
	}
	return c
}

// most returns how many elements a slab of class c has.
func (d *depot[T]) most(c class) int { return c.elems(d.size, d.pointers) }

// obtain returns a slab of class c, all zero now: an idle one, one that the GC has not
// freed yet, or a new one.
func (d *depot[T]) obtain(c class, set *settings) *slab[T] {
	if l := d.get(c); l != nil {
		l.clear()
		if l.bytes() >= largeSlab {
			lately.took()
		}
		return l
	}
	if l := d.leftovers.get(c); l != nil {
		lately.again(l.bytes())
		return l
	}
	l := d.make(c)
	d.advise(l, set)
	if b := l.bytes(); b >= largeSlab && set.idle < 0 {
		lately.missed(b)
	}
	return l
}

// make returns a new slab.
func (d *depot[T]) make(c class) *slab[T] {
	return &slab[T]{buf: make([]T, d.most(c)), size: c}
}

// mine returns this processor's shard.
func (d *depot[T]) mine() *shard[T] {
	sh := d.at.Get().(*shard[T])
	d.at.Put(sh)
	return sh
}

// lock returns this processor's shard, locked.
func (d *depot[T]) lock() *shard[T] {
	sh := d.mine()
	sh.mu.Lock()
	return sh
}

// manyShards is how many shards of others are looked into for what is small: to
// look must not cost more than memory from the runtime.
const manyShards = 4

// take passes this processor's shard to f, and while f finds nothing there those
// of others.
func (d *depot[T]) take(large bool, f func(*shard[T]) bool) {
	mine := d.lock()
	found := f(mine)
	mine.mu.Unlock()
	if found || idleBytes.Load() <= 0 {
		return
	}
	for sh := range d.others(mine, large) {
		if sh.mu.TryLock() {
			found = f(sh)
			sh.mu.Unlock()
		}
		if found {
			return
		}
	}
}

// others returns the shards but mine, for what is small only some of them.
func (d *depot[T]) others(mine *shard[T], large bool) iter.Seq[*shard[T]] {
	return func(yield func(*shard[T]) bool) {
		n := len(d.shards)
		from := int(uintptr(unsafe.Pointer(mine))-uintptr(unsafe.Pointer(&d.shards[0]))) / int(unsafe.Sizeof(*mine))
		if !large {
			n = min(n, manyShards)
		}
		for i := 1; i < n; i++ {
			if !yield(&d.shards[(from+i)&(len(d.shards)-1)]) {
				return
			}
		}
	}
}

// getStock returns a stock for a new handle: an idle one with its slabs, or a new
// one without.
func (d *depot[T]) getStock() *stock[T] {
	sh := d.mine()
	s := sh.takeHot()
	if s == nil {
		s = d.findStock(sh)
	}
	s.home, s.unused = sh, false
	return s
}

// takeHot takes the hot stock, or returns nil.
func (sh *shard[T]) takeHot() *stock[T] {
	if sh.hot.Load() == nil {
		return nil
	}
	return sh.hot.Swap(nil)
}

// findStock is getStock where the hot stock of mine is in use.
func (d *depot[T]) findStock(mine *shard[T]) (s *stock[T]) {
	d.take(false, func(sh *shard[T]) bool {
		if s = sh.stock; s == nil {
			return false
		}
		sh.stock, s.idle = s.idle, nil
		sh.stocks.pop()
		sh.tell(-s.bytes)
		return true
	})
	if s == nil {
		for sh := range d.others(mine, false) {
			if s = sh.takeHot(); s != nil {
				return s
			}
		}
		s = &stock[T]{depot: d, grown: d.first}
		s.self = s
	}
	return s
}

// putStock takes a stock back for reuse, unless more than most bytes would be
// idle then; with most negative, the default bound.
func (d *depot[T]) putStock(s *stock[T], most int64) {
	if !room(s.bytes, most) && !makeRoom(s.bytes, most) {
		return
	}
	// To the shard that it is from: another look-up costs as much as the rest.
	if most < 0 && s.bytes <= quantum && s.home.hot.CompareAndSwap(nil, s) {
		tended.wake()
		return
	}
	sh := d.lock()
	s.idle, sh.stock = sh.stock, s
	sh.stocks.push()
	sh.tell(s.bytes)
	sh.mu.Unlock()
	tended.wake()
}

// room reports whether n bytes more may be idle.
func room(n, most int64) bool {
	n += idleBytes.Load()
	if most < 0 {
		return n <= defaultIdleBytes || n <= lately.bound()
	}
	return n <= most
}

// makeRoom drops large slabs so that the n bytes of a stock may be idle too, and
// reports whether they may. What was used last is used next more likely than what a
// large arena left, and a stock that is dropped costs more: each small arena to come
// makes the heap grow on base pages, where the large slabs are leftovers meanwhile.
func makeRoom(n, most int64) bool {
	large := largeIdle.Load()
	if most == 0 || large == 0 {
		return false
	}
	bound := most
	if most < 0 {
		bound = lately.bound()
	}
	tended.shrink(bound - n)
	if dropped := large - largeIdle.Load(); dropped > 0 && most < 0 {
		lately.gaveBack(dropped)
	}
	return room(n, most)
}

// get takes a slab of class c, or returns nil.
func (d *depot[T]) get(c class) (l *slab[T]) {
	d.take(c.bytes() >= largeSlab, func(sh *shard[T]) bool {
		l = sh.pop(c)
		return l != nil
	})
	return l
}

// pop takes a slab of class c, or returns nil. The shard is locked.
func (sh *shard[T]) pop(c class) *slab[T] {
	l := &sh.lists[c]
	s := l.head
	if s == nil {
		return nil
	}
	l.head, s.link = s.link, nil
	l.pop()
	sh.remove(s)
	return s
}

// remove says that s is not idle any more. The shard is locked.
func (sh *shard[T]) remove(s *slab[T]) {
	b := s.bytes()
	sh.tell(-b)
	if b >= largeSlab {
		largeIdle.Add(-b)
	}
}

// tell adds n to the bytes that are idle. The shard is locked.
func (sh *shard[T]) tell(n int64) {
	sh.untold += n
	if sh.untold >= quantum || sh.untold <= -lag {
		sh.settle()
	}
}

// settle tells all. The shard is locked.
func (sh *shard[T]) settle() {
	if sh.untold != 0 {
		idleBytes.Add(sh.untold)
		sh.untold = 0
	}
}

// put takes a slab back for reuse, unless more than most bytes would be idle
// then; with most negative, the default bound. It reports whether it did.
func (d *depot[T]) put(l *slab[T], most int64) bool {
	b := l.bytes()
	if l.size == own || !room(b, most) {
		return false
	}
	sh := d.lock()
	list := &sh.lists[l.size]
	l.link, list.head = list.head, l
	list.push()
	sh.tell(b)
	if b >= largeSlab {
		largeIdle.Add(b)
	}
	sh.mu.Unlock()
	tended.wake()
	if b >= largeSlab {
		lately.wake()
	}
	return true
}
