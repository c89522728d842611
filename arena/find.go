package arena

import "reflect"

// fewTypes is how many types are searched one by one: faster than the map.
const fewTypes = 12

// find returns the handle of T, making it and its stock if there is none, and
// remembers it as the last one used.
//
//go:noinline
func find[T any](a *Arena) *Handle[T] {
	m := a.more
	if m == nil {
		return add[T](a)
	}
	if m.last != nil {
		if s, ok := m.last.self.(*stock[T]); ok {
			return handleOf[T](s.handle)
		}
	}
	s := listed[T](m)
	if s == nil {
		return add[T](a)
	}
	if s.handle == nil {
		s.attach(a)
	}
	m.last = &s.base
	return handleOf[T](s.handle)
}

// listed returns the stock of T that is in the list, or nil.
func listed[T any](m *more) *stock[T] {
	if m.index != nil {
		if b, ok := m.index[reflect.TypeFor[T]()]; ok {
			return b.self.(*stock[T])
		}
		return nil
	}
	for b := m.rest; b != nil; b = b.next {
		if s, ok := b.self.(*stock[T]); ok {
			return s
		}
	}
	return nil
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
