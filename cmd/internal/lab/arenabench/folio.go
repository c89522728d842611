//go:build !goarenas

package arenabench

import (
	"math"

	"github.com/foliomem/folio/arena"
)

func init() {
	ways["folio"] = func() Allocator { return &folio{} }
	ways["folio-base"] = func() Allocator { return &folio{arena.Options{HugePages: arena.HugeOff}} }
	ways["folio-keep"] = func() Allocator { return &folio{arena.Options{IdleBytes: math.MaxInt}} }
	ways["folio-plain"] = func() Allocator { return &folio{arena.Options{HugePages: arena.HugeOff, IdleBytes: math.MaxInt}} }
}

// folio allocates in Folio's arenas.
type folio struct{ options arena.Options }

func (f *folio) grow(trees, depth, batch int) (nodes int) {
	for trees > 0 {
		a := arena.NewArenaWith(&f.options)
		h := arena.Of[node](a)
		for used := 0; trees > 0 && (used == 0 || used < batch); trees-- {
			n := buildIn(h, depth).count()
			nodes += n
			used += n * nodeBytes
		}
		a.Free()
	}
	return nodes
}

func (f *folio) keep(depth int) func() int {
	a := arena.NewArenaWith(&f.options)
	n := buildIn(arena.Of[node](a), depth)
	return func() int {
		defer a.Free()
		return n.count()
	}
}

func buildIn(h *arena.Handle[node], depth int) *node {
	n := h.New()
	if depth > 0 {
		n.left = buildIn(h, depth-1)
		n.right = buildIn(h, depth-1)
	}
	return n
}

// A space is where the nodes of a document or of an index are allocated: an
// arena, or the heap if there is none.
type space struct {
	arena   *arena.Arena
	values  *arena.Handle[value]
	entries *arena.Handle[entry]
}

func (f *folio) open() *space {
	a := arena.NewArenaWith(&f.options)
	return &space{a, arena.Of[value](a), arena.Of[entry](a)}
}

func (s *space) value() *value {
	if s.values == nil {
		return new(value)
	}
	return s.values.New()
}

func (s *space) entry() *entry {
	if s.entries == nil {
		return new(entry)
	}
	return s.entries.New()
}

// text returns a copy of b.
func (s *space) text(b []byte) string {
	if s.arena == nil {
		return string(b)
	}
	if len(b) == 0 {
		return ""
	}
	c := arena.MakeSlice[byte](s.arena, len(b), len(b))
	copy(c, b)
	return asString(c)
}

func (s *space) close() {
	if s.arena != nil {
		s.arena.Free()
	}
}
