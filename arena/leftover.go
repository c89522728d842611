package arena

import (
	"sync"
	"weak"
)

// leftovers are the large slabs of a type that were left to the GC. They cost
// memory until a cycle has freed them, so an arena that needs a slab before then
// takes one of these instead of making the heap grow. They are held weakly: the
// GC frees them as early as if nobody held them.
type leftovers[T any] struct {
	mu    sync.Mutex
	lists [numClasses]leftover[T]
}

// leftover are those of one class, the oldest first.
type leftover[T any] struct {
	slabs []weak.Pointer[slab[T]]
	old   int // how many were there at the last tend: the cycle since has freed them
}

// add adds a slab, which is cleared only when it is needed again.
func (o *leftovers[T]) add(s *slab[T]) {
	w := weak.Make(s)
	o.mu.Lock()
	l := &o.lists[s.size]
	l.slabs = append(l.slabs, w)
	o.mu.Unlock()
	tended.wake()
}

// get returns a slab of class c, all zero, or nil.
func (o *leftovers[T]) get(c class) (s *slab[T]) {
	if c.bytes() < largeSlab {
		return nil
	}
	o.mu.Lock()
	l := &o.lists[c]
	for s == nil && len(l.slabs) > 0 {
		last := len(l.slabs) - 1
		s = l.slabs[last].Value()
		l.slabs = l.slabs[:last]
	}
	l.old = min(l.old, len(l.slabs))
	o.mu.Unlock()
	if s != nil {
		s.clear()
	}
	return s
}

// tend forgets the slabs that a whole cycle has seen and reports whether there are
// others. It does not ask whether they are there: while the GC marks, the
// answer would keep them for another cycle.
func (o *leftovers[T]) tend() (more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for c := range o.lists {
		l := &o.lists[c]
		n := copy(l.slabs, l.slabs[l.old:])
		clear(l.slabs[n:])
		l.slabs, l.old = l.slabs[:n], n
		more = more || n > 0
	}
	return more
}
