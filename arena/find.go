package arena

import "reflect"

// fewTypes is how many types are searched one by one: faster than the map.
const fewTypes = 12

// find returns the stock of T, making it if there is none, and remembers it
// as the last one used.
//
//go:noinline
func find[T any](a *Arena) *stock[T] {
	m := a.more
	if m == nil {
		return add[T](a)
	}
	if m.last != nil {
		if s, ok := m.last.self.(*stock[T]); ok {
			return s
		}
	}
	if m.index != nil {
		if b, ok := m.index[reflect.TypeFor[T]()]; ok {
			m.last = b
			return b.self.(*stock[T])
		}
		return add[T](a)
	}
	for b := m.rest; b != nil; b = b.next {
		if s, ok := b.self.(*stock[T]); ok {
			m.last = b
			return s
		}
	}
	return add[T](a)
}

// add makes the handle of T, and its stock if there is none to be reused.
func add[T any](a *Arena) *stock[T] {
	if !a.usable() {
		a.misuse("New")
	}
	d := depotOf[T]()
	s := d.getStock()
	s.arena = a
	if a.one.in == nil {
		s.handle = handleOne[T](a)
	} else {
		s.handle = new(Handle[T])
		a.extra().list(&s.base)
	}
	s.handle.in = &s.base
	if l := s.kept; l != nil {
		s.kept = l.link
		s.push(l)
	}
	return s
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
