package flow

import (
	"maps"
	"strings"

	"golang.org/x/tools/go/ssa"
)

// A place is memory: a part of an object. Its path has a step for each field
// (".2"), for all elements ("[]"), for a result of a call ("#1").
type place struct {
	in   identity
	path string
}

// A state is what is known at a point of a function.
type state struct {
	vals   map[ssa.Value]value
	cells  map[place]value
	fresh  map[identity]bool // objects that were made here: what is not in cells is zero
	defers []*ssa.Defer
	ended  map[identity]*end // arenas and mappings that were ended or emptied, for callers
}

func newState() *state {
	return &state{map[ssa.Value]value{}, map[place]value{}, map[identity]bool{}, nil, map[identity]*end{}}
}

func (s *state) clone() *state {
	return &state{maps.Clone(s.vals), maps.Clone(s.cells), maps.Clone(s.fresh), s.defers[:len(s.defers):len(s.defers)], maps.Clone(s.ended)}
}

// join makes s what is known where it meets t. It reports whether s changed.
func (s *state) join(t *state) bool {
	changed := false
	for k, v := range s.vals {
		w, ok := t.vals[k]
		if !ok {
			delete(s.vals, k)
			changed = true
			continue
		}
		j := v.join(w)
		if _, ok := k.(*ssa.Phi); ok && j.region == nil && v.what == w.what && (v.what == anArena || v.what == aMapping) {
			j = value{id: k, region: k, what: v.what, life: max(v.life, w.life)} // one of two arenas
			if j.life == dead && min(v.life, w.life) != dead {
				j.life = unsure
			}
			if j.end = v.end; j.end == nil {
				j.end = w.end
			}
		}
		if j.id == nil {
			j.id = k
		}
		if j != v {
			s.vals[k] = j
			changed = true
		}
	}
	put := func(k place, v value) {
		if old, ok := s.cells[k]; !ok || old != v {
			s.cells[k] = v
			changed = true
		}
	}
	for k, v := range s.cells {
		w, ok := t.cells[k]
		switch {
		case ok:
			j := v.join(w)
			if j.id == nil {
				j.id = content{in: k.in, path: k.path}
			}
			put(k, j)
		case !t.fresh[k.in]: // unknown there
			delete(s.cells, k)
			changed = true
		}
	}
	for k, w := range t.cells {
		if _, ok := s.cells[k]; !ok && s.fresh[k.in] {
			put(k, w)
		}
	}
	for k := range s.fresh {
		if !t.fresh[k] {
			delete(s.fresh, k)
			changed = true
		}
	}
	for k := range s.ended {
		if t.ended[k] == nil {
			delete(s.ended, k)
			changed = true
		}
	}
	n := 0
	for n < len(s.defers) && n < len(t.defers) && s.defers[n] == t.defers[n] {
		n++
	}
	if n < len(s.defers) {
		s.defers = s.defers[:n:n]
		changed = true
	}
	return changed
}

// of returns what is known of an SSA value.
func (s *state) of(v ssa.Value) value {
	if k, ok := s.vals[v]; ok {
		return k
	}
	switch v := v.(type) {
	case *ssa.Const:
		return value{id: v, empty: true}
	case *ssa.Parameter, *ssa.FreeVar, *ssa.Global, *ssa.Function, *ssa.Builtin:
		k := value{id: v}
		if w := itemOf(v.Type()); w != nothing {
			if _, captured := v.(*ssa.FreeVar); !captured {
				k.region, k.what = v, w
			}
		}
		return k
	}
	return value{id: v}
}

// at returns the memory that a pointer or container leads to.
func (v value) at() place {
	if i, ok := v.id.(inner); ok {
		return place(i)
	}
	return place{v.id, ""}
}

func (p place) step(step string) place { return place{p.in, p.path + step} }

// many reports whether a place is the elements of a container: several values.
func (p place) many() bool { return strings.Contains(p.path, "[]") }

// put stores a value in a place that at least one path leads to.
func (s *state) put(p place, v value) {
	if p.many() {
		old, ok := s.cells[p]
		if !ok {
			old = value{id: content{in: p.in, path: p.path}, empty: s.fresh[p.in]}
		}
		v = old.with(v)
	}
	s.cells[p] = v
}

// copy copies what is known of the parts of one object to another.
func (s *state) copy(from, to place) {
	for k := range s.cells {
		if k.in == to.in && strings.HasPrefix(k.path, to.path) && k.path != to.path {
			delete(s.cells, k)
		}
	}
	add := map[place]value{}
	for k, v := range s.cells {
		if k.in == from.in && strings.HasPrefix(k.path, from.path) && k.path != from.path {
			add[place{to.in, to.path + k.path[len(from.path):]}] = v
		}
	}
	maps.Copy(s.cells, add)
}

// forget drops what is known of the parts of an object.
func (s *state) forget(id identity) {
	for k := range s.cells {
		if k.in == id {
			delete(s.cells, k)
		}
	}
	delete(s.fresh, id)
}

// forgetParts drops what is known of the parts of a place.
func (s *state) forgetParts(p place) {
	for k := range s.cells {
		if k.partOf(p) {
			delete(s.cells, k)
		}
	}
}

func (p place) partOf(q place) bool {
	return p.in == q.in && strings.HasPrefix(p.path, q.path) && p.path != q.path
}

// holds returns something of an arena that an object leads to: the elements of
// a slice, a field of a struct, what a closure captured.
func (s *state) holds(v value) (found value, ok bool) {
	if v.id == nil || v.empty {
		return value{}, false
	}
	at := v.at()
	best := ""
	for k, c := range s.cells {
		// The arena itself is no matter: it is its owner's to pass on.
		if !k.partOf(at) || !c.tracked() || c.what != memory && c.what != aHandle {
			continue
		}
		if !ok || c.life > found.life || c.life == found.life && k.path < best {
			found, ok, best = c, true, k.path
		}
	}
	return found, ok
}

// change replaces the values for which f says so.
func (s *state) change(f func(value) (value, bool)) {
	for k, v := range s.vals {
		if v, ok := f(v); ok {
			s.vals[k] = v
		}
	}
	for k, v := range s.cells {
		if v, ok := f(v); ok {
			s.cells[k] = v
		}
	}
}

// kill ends the lives of all values of a region, but of the arena itself and its
// handles only if all is true. The life is unsure if it may only be so.
func (s *state) kill(region identity, e *end, all bool, l life) {
	s.change(func(v value) (value, bool) {
		if v.region != region || v.life >= l || !all && v.what != memory {
			return v, false
		}
		v.life, v.end = l, e
		return v, true
	})
	if l == dead {
		s.ended[region] = e
	}
}

// renew is called when an instruction makes or finds an object, perhaps not for the
// first time: what was known of the one before is of no use for this one.
func (s *state) renew(id identity) {
	s.forget(id)
	s.lose(id)
}

// lose drops what is known of the values of a region.
func (s *state) lose(id identity) {
	delete(s.ended, id)
	s.change(func(v value) (value, bool) {
		if v.region != id || v.life == dead {
			return v, false
		}
		v.region, v.what, v.life, v.end = nil, nothing, alive, nil
		return v, true
	})
}
