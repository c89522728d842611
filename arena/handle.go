package arena

import (
	"reflect"
	"unsafe"
)

// A Handle allocates values of one type from one arena: the fastest way. It
// lives as long as its arena, may be used by one goroutine at a time together
// with it, and panics once the arena is freed.
type Handle[T any] struct {
	core      // first: New is within the inliner's budget only so
	n     int // elements of buf that were handed out
	buf   []T // of the current slab, which is the first of slabs
	slabs *slab[T]
	kept  *slab[T] // empty ones, after Reset
	depot *depot[T]
	grown class // size of the next slab
}

// Of returns the handle for values of type T of the arena. All handles of a
// type and an arena are the same.
func Of[T any](a *Arena) *Handle[T] {
	if h, ok := a.last.(*Handle[T]); ok {
		return h
	}
	return find[T](a)
}

// New returns a pointer to a new zero T in the arena. The pointer must not be
// used after the arena is freed or reset.
func New[T any](a *Arena) *T {
	h, ok := a.last.(*Handle[T])
	if !ok {
		h = find[T](a)
	}
	return h.New()
}

// New returns a pointer to a new zero T in the arena of the handle, as the
// function New does.
func (h *Handle[T]) New() *T {
	// The compiler inlines what costs up to 80, and this costs 80: a test
	// checks. It returns from two places so that callers keep one pointer,
	// not a slab and an index, in registers.
	if h.n == len(h.buf) {
		return (*T)(h.more()) // Safety: it returns what fill of this handle returns, a *T.
	}
	h.n++
	return &h.buf[h.n-1]
}

// fill is New where the current slab is full.
func (h *Handle[T]) fill() unsafe.Pointer {
	h.check("New")
	h.push(h.obtain(1, h.arena.settings()))
	h.n = 1
	return unsafe.Pointer(&h.buf[0]) // Safety: New makes it a *T again.
}

func (h *Handle[T]) check(op string) {
	if a := h.arena; a.state != inUse {
		a.misuse(op)
	}
}

// take returns n zero elements in a row.
func (h *Handle[T]) take(n int) []T {
	i := h.n
	if n <= len(h.buf)-i {
		h.n = i + n
		return h.buf[i:h.n:h.n]
	}
	h.check("MakeSlice")
	s := h.room(n)
	if s == h.slabs {
		h.n = n
	} else {
		s.used = n
	}
	return s.buf[:n:n]
}

// room adds a slab with at least n elements. It becomes the current one,
// unless less would be left of it than is left of the current one.
func (h *Handle[T]) room(n int) *slab[T] {
	s := h.obtain(n, h.arena.settings())
	if h.slabs == nil || len(s.buf)-n > len(h.buf)-h.n {
		h.push(s)
		return s
	}
	s.link, h.slabs.link = h.slabs.link, s
	return s
}

// push makes s the current slab.
func (h *Handle[T]) push(s *slab[T]) {
	if h.slabs != nil {
		h.slabs.used = h.n
	}
	s.link, h.slabs = h.slabs, s
	h.buf, h.n = s.buf, 0
}

// obtain returns a slab with at least n zero elements: one that Reset kept,
// one from the depot, or a new one.
func (h *Handle[T]) obtain(n int, set *settings) *slab[T] {
	d := h.depot
	if d.size == 0 {
		// Any number of them takes no memory.
		return &slab[T]{buf: make([]T, maxInt), size: own}
	}
	if n > d.most(set.maxClass) {
		s := &slab[T]{buf: make([]T, n), size: own}
		h.arena.hold(s.bytes())
		d.advise(s, set)
		return s
	}
	for p := &h.kept; *p != nil; p = &(*p).link {
		if s := *p; len(s.buf) >= n {
			*p = s.link
			return s
		}
	}
	c := max(h.grown, d.least(n))
	h.grown = min(c+1, set.maxClass)
	s := d.get(c)
	if s == nil {
		s = d.make(c)
		d.advise(s, set)
	}
	h.arena.hold(s.bytes())
	return s
}

// drain takes all slabs from the handle and passes them to f, the oldest,
// which are the smallest, first.
func (h *Handle[T]) drain(f func(*slab[T])) {
	if h.slabs != nil {
		h.slabs.used = h.n
	}
	list := [...]*slab[T]{h.kept, h.slabs}
	h.n, h.buf, h.slabs, h.kept = 0, nil, nil, nil
	for _, s := range list {
		var back *slab[T]
		for s != nil {
			s, s.link, back = s.link, back, s
		}
		for s = back; s != nil; {
			next := s.link
			s.link = nil
			f(s)
			s = next
		}
	}
}

func (h *Handle[T]) release() {
	if r := h.arena.debug(); r != nil {
		h.drain(func(s *slab[T]) { h.quarantine(r, s) })
		return
	}
	most := h.arena.settings().idle
	if s := h.slabs; s != nil && s.link == nil && h.kept == nil {
		// The one slab of a small arena.
		s.used = h.n
		h.n, h.buf, h.slabs = 0, nil, nil
		if !h.depot.put(s, most) {
			out := dropped[T]{}
			out.add(s)
			out.giveBack(h.depot.pointers)
		}
		return
	}
	var out dropped[T]
	h.drain(func(s *slab[T]) {
		if !h.depot.put(s, most) {
			out.add(s)
		}
	})
	out.giveBack(h.depot.pointers)
}

func (h *Handle[T]) reset(keep int64) (n int64) {
	if h.arena.debug() != nil {
		h.release()
		return 0
	}
	size := int64(h.depot.size)
	if s := h.slabs; s != nil && s.link == nil && h.kept == nil && s.size != own && s.bytes() <= keep {
		h.arena.past += int64(h.n) * size
		clear(h.buf[:h.n])
		h.n = 0
		h.arena.hold(s.bytes())
		return s.bytes()
	}
	most := h.arena.settings().idle
	h.grown = h.depot.first
	var list *slab[T]
	var out dropped[T]
	h.drain(func(s *slab[T]) {
		b := s.bytes()
		h.arena.past += int64(s.used) * size
		if s.size != own && n+b <= keep {
			s.clear()
			n += b
			h.arena.hold(b)
			s.link, list = list, s
			h.grown = max(h.grown, min(s.size+1, h.arena.settings().maxClass))
			return
		}
		if !h.depot.put(s, most) {
			out.add(s)
		}
	})
	out.giveBack(h.depot.pointers)
	h.kept = list
	return n
}

func (h *Handle[T]) typ() reflect.Type { return reflect.TypeFor[T]() }
