package arena

import "unsafe"

// A Handle allocates values of one type from one arena: the fastest way. It
// lives as long as its arena, may be used by one goroutine at a time together
// with it, must not be copied, and panics once the arena is freed or put into a
// Pool.
type Handle[T any] struct {
	core                 // first: New is within the inliner's budget only so
	n     uintptr        // elements of the current slab that were handed out
	end   uintptr        // elements that it has; it is the first of the stock's slabs
	first unsafe.Pointer // a *T
}

// core is the part of a handle that is the same for all types. A method of
// it costs the inliner less than one of the generic type: New needs that.
type core struct {
	_  noCopy
	in store // the handle's stock, here so that New[T] asks for its type with one load; nil after Free
}

// used returns how many elements of the current slab were handed out, left how
// many were not.
func (h *Handle[T]) used() int { return int(h.n) }
func (h *Handle[T]) left() int { return int(h.end - h.n) }

// buf returns the elements of the current slab.
func (h *Handle[T]) buf() []T { return unsafe.Slice((*T)(h.first), h.end) }

// from makes New hand out the elements of an empty slab; nil: of none.
func (h *Handle[T]) from(buf []T) {
	h.n, h.end, h.first = 0, uintptr(len(buf)), unsafe.Pointer(unsafe.SliceData(buf))
}

// more returns a new element where the current slab is full.
//
//go:noinline
func (c *core) more() unsafe.Pointer {
	if c.in == nil {
		panic("arena: allocation after Free")
	}
	return c.in.fill()
}

// Of returns the handle for values of type T of the arena. All handles of a
// type and an arena are the same.
func Of[T any](a *Arena) *Handle[T] {
	if _, ok := a.one.in.(*stock[T]); ok {
		return handleOne[T](a)
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
	if _, ok := a.one.in.(*stock[T]); ok {
		return handleOne[T](a).New()
	}
	return find[T](a).handle.New()
}

// New returns a pointer to a new zero T in the arena of the handle, as the
// function New does.
func (h *Handle[T]) New() *T {
	// The compiler inlines what costs up to 80, and this costs 80: a test checks.
	if h.n >= h.end {
		return (*T)(h.more()) // Safety: it returns what fill of this handle's stock returns, a *T.
	}
	h.n++
	// Safety: n-1 is below end, and first points to that many elements.
	return (*T)(unsafe.Add(h.first, (h.n-1)*unsafe.Sizeof(*new(T))))
}

// take returns n zero elements in a row.
func (h *Handle[T]) take(n int) []T {
	if i := h.used(); n <= h.left() {
		h.n += uintptr(n)
		return h.buf()[i : i+n : i+n]
	}
	s := h.in.(*stock[T]) // of an arena in use: Of looked
	sl := s.room(n)
	if sl == s.slabs {
		h.n = uintptr(n)
	} else {
		sl.used = n
	}
	return sl.buf[:n:n]
}
