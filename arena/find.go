package arena

import "reflect"

// fewTypes is how many types are searched one by one: faster than the map.
const fewTypes = 12

// find returns the handle of T, making it if there is none, and remembers it
// as the last one used.
//
//go:noinline
func find[T any](a *Arena) *Handle[T] {
	if a.more != nil && a.more.index != nil {
		if s, ok := a.more.index[reflect.TypeFor[T]()]; ok {
			a.last = s
			return s.(*Handle[T])
		}
		return add[T](a)
	}
	for c := a.first; c != nil; c = c.next {
		if h, ok := c.self.(*Handle[T]); ok {
			a.last = h
			return h
		}
	}
	return add[T](a)
}

// add makes the handle of T.
func add[T any](a *Arena) *Handle[T] {
	if a.state != inUse {
		a.misuse("New")
	}
	d := depotOf[T]()
	h := &Handle[T]{depot: d, grown: d.first}
	h.core = core{self: h, next: a.first, arena: a}
	a.first, a.last = &h.core, h
	if a.types < fewTypes {
		a.types++
		return h
	}
	if a.more == nil {
		a.more = new(more)
	}
	if a.more.index == nil {
		a.more.index = map[reflect.Type]store{}
		for c := a.first; c != nil; c = c.next {
			a.more.index[c.self.typ()] = c.self
		}
	}
	a.more.index[h.typ()] = h
	return h
}
