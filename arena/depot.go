package arena

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
)

// A depot holds the idle slabs of one type for all arenas of the process. All
// are zero: nothing is kept alive by what is in a depot, and a slab can be
// handed out as it is.
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
}

// depots has the *depot[T] of each reflect.Type.
var depots sync.Map

// idleBytes is how much is in all depots, short of what the shards have not
// told yet (each less than quantum).
var idleBytes atomic.Int64

const quantum = 16 << 10

// shard is a part of a depot with a lock of its own. Each processor has one, so
// that what it freed last, and has in its cache, is what it gets.
type shard[T any] struct {
	mu     sync.Mutex
	lists  [numClasses]list[T]
	untold int64
	_      [64]byte // neighbours are on other cache lines
}

// list is a stack of slabs of one class.
type list[T any] struct {
	head *slab[T]
	n    int32
	low  int32 // the least n since the last collection
}

func depotOf[T any]() *depot[T] {
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
// the collector looks at them.
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

// make returns a new slab.
func (d *depot[T]) make(c class) *slab[T] {
	return &slab[T]{buf: make([]T, d.most(c)), size: c}
}

// lock returns this processor's shard, locked.
func (d *depot[T]) lock() *shard[T] {
	sh := d.at.Get().(*shard[T])
	d.at.Put(sh)
	sh.mu.Lock()
	return sh
}

// ready returns a stock for a new handle, with an empty slab if there was an idle
// one.
func (d *depot[T]) ready() (*stock[T], *slab[T]) {
	var l *slab[T]
	if d.size > 0 && d.first.bytes() < largeSlab {
		sh := d.lock()
		l = sh.pop(d.first)
		sh.mu.Unlock()
	}
	s := (*stock[T])(nil)
	if l != nil {
		s, l.spare = l.spare, nil
	}
	if s == nil {
		s = &stock[T]{depot: d}
		s.self = s
	}
	s.grown = d.first
	if l != nil {
		s.grown++
	}
	return s, l
}

// get takes a slab of class c, or returns nil.
func (d *depot[T]) get(c class) *slab[T] {
	mine := d.lock()
	l := mine.pop(c)
	mine.mu.Unlock()
	if l == nil && c.bytes() >= largeSlab && idleBytes.Load() > 0 {
		// What others have is better than memory from the runtime, but for a
		// small slab looking for it would cost more.
		for i := range d.shards {
			if sh := &d.shards[i]; sh != mine && sh.mu.TryLock() {
				l = sh.pop(c)
				sh.mu.Unlock()
				if l != nil {
					break
				}
			}
		}
	}
	if l != nil {
		l.spare = nil
	}
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
	l.n--
	l.low = min(l.low, l.n)
	sh.tell(-s.bytes())
	return s
}

// tell adds n to the bytes that are idle. The shard is locked.
func (sh *shard[T]) tell(n int64) {
	sh.untold += n
	if sh.untold >= quantum || sh.untold <= -quantum {
		idleBytes.Add(sh.untold)
		sh.untold = 0
	}
}

// put takes a slab back for reuse, unless more than most bytes would be idle
// then; with most negative, the default bound. It reports whether it did. The
// stock, if there is one, is reused too.
func (d *depot[T]) put(l *slab[T], spare *stock[T], most int64) bool {
	b := l.bytes()
	if most < 0 {
		most = max(defaultIdleBytes, inUseBytes.Load())
	}
	if l.size == own || idleBytes.Load()+b > most {
		return false
	}
	l.clear()
	if l.size == d.first {
		l.spare = spare
	}
	sh := d.lock()
	list := &sh.lists[l.size]
	l.link, list.head = list.head, l
	list.n++
	sh.tell(b)
	sh.mu.Unlock()
	tended.wake()
	return true
}
