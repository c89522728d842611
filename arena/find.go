package arena

import (
	"reflect"
	"unsafe"
)

const (
	// fewTypes is how many types are searched one by one: faster than the map.
	fewTypes = 12
	// nearby is how many handles are found without a search.
	nearby = 8
)

// find returns the handle of T, making it and its stock if there is none.
//
//go:noinline
func find[T any](a *Arena) *Handle[T] {
	of := store((*stock[T])(nil))
	if a.two.key == typeKey(of) {
		return handleOf[T](&a.two)
	}
	m := a.more
	if m == nil {
		return add[T](a)
	}
	if c := m.find(of); c != nil {
		return handleOf[T](c)
	}
	if b := m.listed(of); b != nil {
		return b.self.(*stock[T]).attachListed(m)
	}
	return add[T](a)
}

// find returns the handle of the type of the stock of, which is nil, if it is one of those that
// are not part of the arena; nil: there is none.
func (m *more) find(of store) *core {
	key := typeKey(of)
	near := &m.near[uintptr(key)>>5%nearby] // what key is of takes 32 bytes at least
	if c := *near; c != nil && c.key == key {
		return c
	}
	if b := m.listed(of); b != nil && b.handle != nil {
		*near = b.handle
		return b.handle
	}
	return nil
}

// listed returns the stock of the type that is in the list, or nil.
func (m *more) listed(of store) *base {
	if m.index != nil {
		return m.index[of.typ()]
	}
	for b := m.rest; b != nil; b = b.next {
		if typeKey(b.self) == typeKey(of) {
			return b
		}
	}
	return nil
}

// typeKey tells the types of stocks apart.
func typeKey(s store) unsafe.Pointer {
	// Safety: the first word of an interface says what type is in it. It is loaded as the pointer
	// that it is, so that the compiler sees what was stored, and only compared.
	return *(*unsafe.Pointer)(unsafe.Pointer(&s))
}

// open returns the handle for the type of the stock of, which is nil, with room for one value. Those
// of the arena's own are full, or of another type.
//
//go:noinline
func open(a *Arena, of store) *core {
	var c *core
	switch key := typeKey(of); key {
	case a.one.key:
		c = &a.one
	case a.two.key:
		c = &a.two
	default:
		if a.more != nil {
			c = a.more.ask(a, of)
		}
		if c == nil {
			return of.open(hide(a))
		}
	}
	if c.at == 0 {
		c.more()
	}
	return c
}

// often is how many times New has to ask for types that have none of the arena's own handles,
// until the one that it asks for then gets one.
const often = 16

// ask is find for New. Every often-th call gives its type one of the arena's own handles, in turn,
// unless the arena has an index or the program has the handle ([Of]) of a type that would move.
func (m *more) ask(a *Arena, of store) *core {
	found := m.find(of)
	if found == nil {
		return nil
	}
	if m.asked++; m.asked < often {
		return found
	}
	m.asked = 0
	b := found.in
	if b.pinned || m.index != nil {
		return found
	}
	for range 2 {
		m.turn = !m.turn
		own := &a.one
		if m.turn {
			own = &a.two
		}
		if !own.in.pinned {
			m.change(own, b)
			return own
		}
	}
	return found
}

// change makes one of the arena's own handles, own, that of b, which is listed, and b's that of the
// stock that has own. The program has none of the two.
func (m *more) change(own *core, b *base) {
	c, f := b.handle, own.in
	own.key, c.key = c.key, own.key
	own.in, c.in = c.in, own.in
	own.at, c.at = c.at, own.at
	own.last, c.last = c.last, own.last
	f.handle, f.more, b.handle, b.more = c, m, nil, nil
	f.second, b.second = false, f.second
	p := &m.rest
	for *p != b {
		p = &(*p).next
	}
	f.next, *p, b.next = b.next, f, nil
}

// add makes the handle of T, and its stock if there is none to be reused.
func add[T any](a *Arena) *Handle[T] {
	a.use("allocation")
	return depotOf[T]().getStock().attach(a)
}

// list adds a stock to those of the arena.
func (m *more) list(b *base) {
	b.next, m.rest = m.rest, b
	if m.types++; m.types < fewTypes {
		return
	}
	if m.index == nil {
		m.index = map[reflect.Type]*base{}
		for b := m.rest; b != nil; b = b.next {
			m.index[b.self.typ()] = b
		}
	}
	m.index[b.self.typ()] = b
}
