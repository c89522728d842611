package arena

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// A depot holds the idle slabs of one type for all arenas of the process. All
// are zero: nothing is kept alive by what is in a depot, and a slab can be
// handed out as it is.
type depot[T any] struct {
	size     uintptr // of an element
	pointers bool    // an element holds pointers
	first    class   // the smallest slab
	shards   []shard[T]
}

// depots has the *depot[T] of each reflect.Type.
var depots sync.Map

// idleBytes is how much is in all depots, short of what the shards have not
// told yet (each less than quantum).
var idleBytes atomic.Int64

const quantum = 16 << 10

// shard is a part of a depot with a lock of its own. A goroutine uses the
// shard that its stack's address chooses: for want of a processor's number,
// this keeps goroutines apart from each other, and each with its own.
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

// shard chooses a shard for this goroutine.
func (d *depot[T]) shard() int {
	var here byte
	p := uintptr(unsafe.Pointer(&here)) // Safety: the address is only a number here.
	return int(uint32(p>>15)*0x9E3779B1>>16) & (len(d.shards) - 1)
}

// lock locks a shard and returns its number: this goroutine's own, or, while
// somebody else has that one, the next that is free. Two goroutines may have
// chosen the same, and to sleep costs more than a slab is worth.
func (d *depot[T]) lock() int {
	own := d.shard()
	for k := range d.shards {
		if i := (own + k) & (len(d.shards) - 1); d.shards[i].mu.TryLock() {
			return i
		}
	}
	d.shards[own].mu.Lock()
	return own
}

// get takes a slab of class c, or returns nil.
func (d *depot[T]) get(c class) *slab[T] {
	i := d.lock()
	sh := &d.shards[i]
	s := sh.pop(c)
	sh.mu.Unlock()
	if s != nil || idleBytes.Load() <= 0 {
		return s
	}
	probes := len(d.shards)
	if c.bytes() < largeSlab {
		// Looking into the shards of others must not cost more than memory
		// from the runtime.
		probes = min(probes, 4)
	}
	for k := 1; k < probes && s == nil; k++ {
		sh := &d.shards[(i+k)&(len(d.shards)-1)]
		if sh.mu.TryLock() {
			s = sh.pop(c)
			sh.mu.Unlock()
		}
	}
	return s
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
// then; with most negative, the default bound. It reports whether it did.
func (d *depot[T]) put(s *slab[T], most int64) bool {
	b := s.bytes()
	if most < 0 {
		most = max(defaultIdleBytes, inUseBytes.Load())
	}
	if s.size == own || idleBytes.Load()+b > most {
		return false
	}
	s.clear()
	sh := &d.shards[d.lock()]
	l := &sh.lists[s.size]
	s.link, l.head = l.head, s
	l.n++
	sh.tell(b)
	sh.mu.Unlock()
	tended.wake()
	return true
}
