//go:build goarenas

package arenabench

import (
	"arena"
	"runtime"
)

func init() {
	ways["goarena"] = func() Allocator { return goArena{} }
}

// goArena allocates in the arenas of Go's experiment.
type goArena struct{}

func (goArena) grow(trees, depth, batch int) (nodes int) {
	for trees > 0 {
		a := arena.NewArena()
		for used := 0; trees > 0 && (used == 0 || used < batch); trees-- {
			n := buildIn(a, depth).count()
			nodes += n
			used += n * nodeBytes
		}
		a.Free()
	}
	return nodes
}

func (goArena) keep(depth int) func() int {
	a := arena.NewArena()
	n := buildIn(a, depth)
	return func() int {
		defer a.Free()
		return n.count()
	}
}

func buildIn(a *arena.Arena, depth int) *node {
	n := arena.New[node](a)
	if depth > 0 {
		n.left = buildIn(a, depth-1)
		n.right = buildIn(a, depth-1)
	}
	return n
}

// A space is where the nodes of a document or of an index are allocated: an
// arena, or the heap if there is none.
type space struct{ arena *arena.Arena }

func (goArena) open() *space { return &space{arena.NewArena()} }

func (s *space) value() *value {
	if s.arena == nil {
		return new(value)
	}
	return arena.New[value](s.arena)
}

func (s *space) entry() *entry {
	if s.arena == nil {
		return new(entry)
	}
	return arena.New[entry](s.arena)
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
		runtime.KeepAlive(s) // an arena that nothing refers to is freed
	}
}
