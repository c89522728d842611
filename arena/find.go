package arena

import (
	"reflect"
	"unsafe"
)

// fewTypes is how many types are searched one by one: faster than the map.
const fewTypes = 12

// find returns the handle of T, making it and its stock if there is none.
//
//go:noinline
func find[T any](a *Arena) *Handle[T] {
	m := a.more
	if m == nil {
		return add[T](a)
	}
	b := m.find((*stock[T])(nil))
	if b == nil {
		return add[T](a)
	}
	if b.handle == nil {
		b.self.(*stock[T]).attach(a)
	}
	return handleOf[T](b.handle)
}

// find returns the stock of the type of the stock of, which is nil, if it is not the first
// handle's, and remembers it as the last one; nil: there is none.
func (m *more) find(of store) *base {
	if b := m.last; b != nil && typeKey(b.self) == typeKey(of) {
		return b
	}
	b := m.listed(of)
	if b != nil {
		m.last = b
	}
	return b
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
func typeKey(s store) uintptr {
	// Safety: the first word of an interface says what type is in it, and is only compared.
	return *(*uintptr)(unsafe.Pointer(&s))
}

// open returns the handle for the type of the stock of, which is nil, in the arena whose first
// handle is c, with room for one value.
//
//go:noinline
func open(c *core, of store) *core {
	a := arenaOf(c)
	if m := a.more; m != nil {
		if b := m.find(of); b != nil && b.handle != nil {
			if m.wants(b) && m.front(a, b) {
				b = nil
			} else {
				c = b.handle
			}
			if c.at != 0 {
				return c
			}
		}
	}
	return of.open(hide(a))
}

// often is how many times New has to ask for one type, and for no other but the first handle's, until
// that becomes the first handle's.
const often = 16

// wants reports whether New asks for the type of b often.
func (m *more) wants(b *base) bool {
	if m.wanted != b {
		m.wanted, m.times = b, 0
	}
	m.times++
	return m.times >= often
}

// front makes the first handle that of b, and b's that of the stock which had the first, unless the
// program has one of them. It reports whether it did.
func (m *more) front(a *Arena, b *base) bool {
	m.wanted = nil
	f := a.one.in.common()
	if f.pinned || b.pinned || m.index != nil {
		return false
	}
	c := b.handle
	a.one.in, c.in = c.in, a.one.in
	a.one.at, c.at = c.at, a.one.at
	a.one.last, c.last = c.last, a.one.last
	f.handle, f.more, b.handle, b.more = c, m, nil, nil
	p := &m.rest
	for *p != b {
		p = &(*p).next
	}
	f.next, *p, b.next = b.next, f, nil
	m.last = f
	return true
}

// add makes the handle of T, and its stock if there is none to be reused.
func add[T any](a *Arena) *Handle[T] {
	a.use("allocation")
	s := depotOf[T]().getStock()
	if a.one.in != nil {
		a.extra().list(&s.base)
	}
	return s.attach(a)
}

// list adds a stock to those of the arena.
func (m *more) list(b *base) {
	b.next, m.rest, m.last = m.rest, b, b
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
