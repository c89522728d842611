package arena

import "unsafe"

// A Handle allocates values of one type from one arena, without looking the type up. It
// lives as long as its arena, may be used by one goroutine at a time together
// with it, must not be copied, and panics once the arena is freed or put into a
// Pool.
type Handle[T any] struct{ core }

// core is a handle, which is the same for all types. A method of it costs the
// inliner less than one of the generic type: New needs that.
type core struct {
	_   noCopy
	key unsafe.Pointer // says of what type the handle is: New compares it
	in  *base          // the handle's stock; nil after Free

	// What is left of the current slab, which is the first of the stock's: at is 0
	// where nothing is, and last+at is the element that was handed out last, at being
	// negative. Counting up to 0 is one compare, and as the address comes of
	// an addition last, the compiler knows that it is not nil. An integer, since
	// pointers are stored with a write barrier.
	at   uintptr
	last unsafe.Pointer // the last element of the current slab
}

// listed is a handle that is not part of its arena.
type listed struct {
	core
	_ [32]byte // as in Arena
}

// from makes New of c, if there is one, hand out elements; nil: none.
func from[T any](c *core, buf []T) {
	if c == nil {
		return
	}
	c.at, c.last = 0, nil
	if n := uintptr(len(buf)); n > 0 {
		size := unsafe.Sizeof(buf[0])
		c.at, c.last = -n*size, unsafe.Add(unsafe.Pointer(unsafe.SliceData(buf)), (n-1)*size)
	}
}

// unused returns how many elements of the current slab were not handed out; 0 for
// those of no size.
func unused[T any](c *core) int {
	if size := unsafe.Sizeof(*new(T)); size > 0 {
		return int(-c.at / size)
	}
	return 0
}

// more makes room where the current slab is full.
//
//go:noinline
func (c *core) more() {
	if c.in == nil {
		panic("arena: allocation after Free")
	}
	c.in.self.fill(hide(c))
}

// hide returns p. The compiler does not see that it is p, so that an arena may live
// on the stack although methods are called for it by way of an interface. What is
// hidden must not be stored anywhere: TestArenaStaysOnTheStack looks that it is not.
//
//go:nosplit
func hide[P any](p *P) *P {
	x := uintptr(unsafe.Pointer(p))
	// Safety: no call lies between the two conversions, so the stack does not move.
	return *(**P)(unsafe.Pointer(&x))
}

// Of returns the handle for values of type T of the arena: the same each time.
func Of[T any](a *Arena) *Handle[T] {
	h := handle[T](a)
	h.in.pinned = true
	return h
}

// handle is Of for this package, which does not keep what it returns.
func handle[T any](a *Arena) *Handle[T] {
	if a.one.key == typeKey((*stock[T])(nil)) {
		return handleOf[T](&a.one)
	}
	return find[T](a)
}

// handleOf returns a handle with its type.
func handleOf[T any](c *core) *Handle[T] {
	// Safety: a Handle[T] is a core, whatever T is. The stock is one of T, or new.
	return (*Handle[T])(unsafe.Pointer(c))
}

// stock returns the stock of the handle of an arena in use.
func (h *Handle[T]) stock() *stock[T] { return h.in.self.(*stock[T]) }

// end makes c a handle that hands out nothing: in says why.
func (c *core) end(in *base) {
	c.key, c.in, c.at, c.last = nil, in, 0, nil
}

// New returns a pointer to a new zero T in the arena. The pointer must not be
// used after the arena is freed or reset.
//
// For two types of an arena, New is inlined and takes 1.1 to 1.3 times as long as
// [Handle.New]: initially the first two, later two that are used often. For others it takes a
// call and a short search, three to four times as long. In a loop over more than two types, use
// a handle for each ([Of]).
func New[T any](a *Arena) *T {
	// Safety: as in Handle.New.
	return (*T)(a.next(unsafe.Sizeof(*new(T)), second, open, (*stock[T])(nil)))
}

// next returns the next size bytes of the arena's first handle, if that is of the type of the stock
// of, which is nil, and has room, otherwise of the handle that second finds.
//
// Second and open are always the functions of these names: the compiler counts a call of a parameter
// as 17, of a function as 57, and inlines what costs up to 80. New and second cost less that way, and
// in the caller of New, where the compiler knows second, it is inlined, too: a test checks both.
//
// On the way of the first type nothing is in a register that may be of another handle, and the room is
// asked for last: the compiler lays the rest out before, so that there is one jump.
func (a *Arena) next(size uintptr, second seconder, open opener, of store) unsafe.Pointer {
	at, last := a.one.at, a.one.last
	if a.one.key != typeKey(of) || at == 0 {
		at, last = second(a, size, open, of)
	} else {
		a.one.at = at + size
	}
	return unsafe.Add(last, at+size)
}

type (
	seconder func(a *Arena, size uintptr, open opener, of store) (at uintptr, last unsafe.Pointer)
	opener   func(a *Arena, of store) *core
)

// second takes size bytes of the arena's second handle, if that is of the type of the stock of, which
// is nil, and has room, otherwise of the handle that open returns. It returns what that handle had.
func second(a *Arena, size uintptr, open opener, of store) (at uintptr, last unsafe.Pointer) {
	at, last = a.two.at, a.two.last
	if a.two.key != typeKey(of) || at == 0 {
		c := open(a, of)
		at, last = c.at, c.last
		c.at = at + size
	} else {
		a.two.at = at + size
	}
	return at, last
}

// New returns a pointer to a new zero T in the arena of the handle, as the
// function New does.
func (h *Handle[T]) New() *T {
	// The compiler inlines what costs up to 80, and this costs 78: a test checks.
	if h.at == 0 {
		h.more()
	}
	h.at += unsafe.Sizeof(*new(T))
	// Safety: last is the last element of a slab, and this one lies before it, or is it.
	return (*T)(unsafe.Add(h.last, h.at))
}

// take returns n zero elements in a row.
func (h *Handle[T]) take(n int) []T {
	size := unsafe.Sizeof(*new(T))
	if n > unused[T](&h.core) {
		return h.stock().room(hide(&h.core), n) // of an arena in use: Of looked
	}
	// Safety: the slab has n more elements.
	p := unsafe.Add(h.last, h.at+size)
	h.at += uintptr(n) * size
	return unsafe.Slice((*T)(p), n)
}
