package arena

import (
	"reflect"
	"unsafe"
)

// A stock is what a handle allocates from: the slabs of one type in one arena.
// When a small arena is freed, the stock stays with its first slab, to be
// reused with it by an arena that comes later. Nobody but the handle, which loses it
// then, ever refers to a stock; handles and arenas themselves are not reused,
// so that one that was kept after Free still says so.
type stock[T any] struct {
	base
	handle *Handle[T]
	slabs  *slab[T] // the first is the current one
	kept   *slab[T] // empty ones, after Reset
	depot  *depot[T]
	grown  class // size of the next slab
}

// base is the part of a stock that is the same for all types.
type base struct {
	self  store // the stock
	arena *Arena
	next  *base // in the arena's list
}

// store is what an Arena needs of its stocks without knowing their types.
type store interface {
	fill() unsafe.Pointer          // a new element where the slab is full; panics after Free
	release()                      // for Free
	reset(keep int64) (kept int64) // for Reset: keeps slabs of at most keep bytes
	count(*counter)
	typ() reflect.Type
}

func (s *stock[T]) typ() reflect.Type { return reflect.TypeFor[T]() }

func (s *stock[T]) check(op string) {
	if a := s.arena; !a.usable() {
		a.misuse(op)
	}
}

// fill is New where the current slab is full.
func (s *stock[T]) fill() unsafe.Pointer {
	s.check("New")
	s.push(s.obtain(1, s.arena.settings()))
	h := s.handle
	h.n = 1
	return unsafe.Pointer(&h.buf[0]) // Safety: New makes it a *T again.
}

// room adds a slab with at least n elements. It becomes the current one,
// unless less would be left of it than is left of the current one.
func (s *stock[T]) room(n int) *slab[T] {
	h := s.handle
	l := s.obtain(n, s.arena.settings())
	if s.slabs == nil || len(l.buf)-n > len(h.buf)-h.n {
		s.push(l)
		return l
	}
	l.link, s.slabs.link = s.slabs.link, l
	return l
}

// push makes l the current slab.
func (s *stock[T]) push(l *slab[T]) {
	h := s.handle
	if s.slabs != nil {
		s.slabs.used = h.n
	}
	l.link, s.slabs = s.slabs, l
	h.buf, h.n = l.buf, 0
}

// obtain returns a slab with at least n zero elements: one that Reset kept,
// one from the depot, or a new one.
func (s *stock[T]) obtain(n int, set *settings) *slab[T] {
	d := s.depot
	if d.size == 0 {
		// Any number of them takes no memory.
		return &slab[T]{buf: make([]T, maxInt), size: own}
	}
	if n > d.most(set.maxClass) {
		l := &slab[T]{buf: make([]T, n), size: own}
		s.arena.hold(l.bytes())
		d.advise(l, set)
		return l
	}
	for p := &s.kept; *p != nil; p = &(*p).link {
		if l := *p; len(l.buf) >= n {
			*p = l.link
			return l
		}
	}
	c := max(s.grown, d.least(n))
	s.grown = min(c+1, set.maxClass)
	l := d.get(c)
	if l == nil {
		l = d.make(c)
		d.advise(l, set)
	}
	s.arena.hold(l.bytes())
	return l
}

// drain takes all slabs from the stock and its handle and passes them to f, the
// oldest, which are the smallest, first. It does not use the stock any more then.
func (s *stock[T]) drain(h *Handle[T], f func(*slab[T])) {
	if s.slabs != nil {
		s.slabs.used = h.n
	}
	lists := [...]*slab[T]{s.kept, s.slabs}
	h.n, h.buf, s.slabs, s.kept = 0, nil, nil, nil
	for _, l := range lists {
		var back *slab[T]
		for l != nil {
			l, l.link, back = l.link, back, l
		}
		for l = back; l != nil; {
			next := l.link
			l.link = nil
			f(l)
			l = next
		}
	}
}

func (s *stock[T]) release() {
	a, h, d := s.arena, s.handle, s.depot
	if r := a.debug(); r != nil {
		// The handle keeps its stock, to say more should it be used again.
		s.drain(h, func(l *slab[T]) { s.quarantine(r, l) })
		return
	}
	most := a.settings().idle
	h.in, s.arena, s.next, s.handle = nil, nil, nil, nil
	if l := s.slabs; l != nil && l.link == nil && s.kept == nil {
		// The one slab of a small arena.
		l.used = h.n
		h.n, h.buf, s.slabs = 0, nil, nil
		if !d.put(l, s, most) {
			out := dropped[T]{}
			out.add(l)
			out.giveBack(d.pointers)
		}
		return
	}
	var out dropped[T]
	spare := s
	s.drain(h, func(l *slab[T]) {
		with := spare
		spare = nil
		if !d.put(l, with, most) {
			out.add(l)
		}
	})
	out.giveBack(d.pointers)
}

func (s *stock[T]) reset(keep int64) (n int64) {
	a, h := s.arena, s.handle
	if a.debug() != nil {
		s.release()
		return 0
	}
	size := int64(s.depot.size)
	if l := s.slabs; l != nil && l.link == nil && s.kept == nil && l.size != own && l.bytes() <= keep {
		a.more.past += int64(h.n) * size
		clear(h.buf[:h.n])
		h.n = 0
		a.hold(l.bytes())
		return l.bytes()
	}
	set := a.settings()
	s.grown = s.depot.first
	var list *slab[T]
	var out dropped[T]
	s.drain(h, func(l *slab[T]) {
		b := l.bytes()
		a.more.past += int64(l.used) * size
		if l.size != own && n+b <= keep {
			l.clear()
			n += b
			a.hold(b)
			l.link, list = list, l
			s.grown = max(s.grown, min(l.size+1, set.maxClass))
			return
		}
		if !s.depot.put(l, nil, set.idle) {
			out.add(l)
		}
	})
	out.giveBack(s.depot.pointers)
	s.kept = list
	return n
}
