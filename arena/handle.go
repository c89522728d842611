package arena

import "unsafe"

// A Handle allocates values of one type from one arena: the fastest way. It
// lives as long as its arena, may be used by one goroutine at a time together
// with it, must not be copied, and panics once the arena is freed or put into a
// Pool.
type Handle[T any] struct {
	core     // first: New is within the inliner's budget only so
	n    int // elements of buf that were handed out
	buf  []T // of the current slab, which is the first of the stock's
}

// core is the part of a handle that is the same for all types. A method of
// it costs the inliner less than one of the generic type: New needs that.
type core struct {
	_  noCopy
	in *base // of the handle's stock; nil after Free
}

// more returns a new element where the current slab is full.
//
//go:noinline
func (c *core) more() unsafe.Pointer {
	if c.in == nil {
		panic("arena: allocation after Free")
	}
	return c.in.self.fill()
}

// Of returns the handle for values of type T of the arena. All handles of a
// type and an arena are the same.
func Of[T any](a *Arena) *Handle[T] {
	if b := a.one.in; b != nil {
		if _, ok := b.self.(*stock[T]); ok {
			return handleOne[T](a)
		}
	}
	return find[T](a).handle
}

// handleOne returns the handle that is part of the arena, as that of T.
func handleOne[T any](a *Arena) *Handle[T] {
	// Safety: handle0 has the layout of a Handle[T], whatever T is: the element
	// type is only that of the pointer in it. The stock is one of T, or new.
	return (*Handle[T])(unsafe.Pointer(&a.one))
}

// New returns a pointer to a new zero T in the arena. The pointer must not be
// used after the arena is freed or reset.
func New[T any](a *Arena) *T {
	var h *Handle[T]
	if b := a.one.in; b == nil {
		h = find[T](a).handle
	} else if _, ok := b.self.(*stock[T]); ok {
		h = handleOne[T](a)
	} else {
		h = find[T](a).handle
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
		return (*T)(h.more()) // Safety: it returns what fill of this handle's stock returns, a *T.
	}
	h.n++
	return &h.buf[h.n-1]
}

// take returns n zero elements in a row.
func (h *Handle[T]) take(n int) []T {
	i := h.n
	if n <= len(h.buf)-i {
		h.n = i + n
		return h.buf[i:h.n:h.n]
	}
	s := h.in.self.(*stock[T]) // of an arena in use: Of looked
	sl := s.room(n)
	if sl == s.slabs {
		h.n = n
	} else {
		sl.used = n
	}
	return sl.buf[:n:n]
}
