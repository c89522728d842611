package main

import "github.com/foliomem/folio/arena"

// folio allocates in Folio's arenas, through the handle of the type.
type folio struct{}

func (folio) worker() func(trees, depth int) int {
	if flags.reset {
		a := arena.NewArenaWith(&flags.Options)
		h := arena.Of[Node](a)
		return func(trees, depth int) (nodes int) {
			for range trees {
				nodes += buildIn(h, depth).count()
				a.Reset()
			}
			return nodes
		}
	}
	return func(trees, depth int) (nodes int) {
		for trees > 0 {
			a := arena.NewArenaWith(&flags.Options)
			h := arena.Of[Node](a)
			for used := 0; trees > 0 && (used == 0 || used < flags.batch); trees-- {
				n := buildIn(h, depth).count()
				nodes += n
				used += n * nodeBytes
			}
			a.Free()
		}
		return nodes
	}
}

func (folio) keep(depth int) func() int {
	a := arena.NewArenaWith(&flags.Options)
	n := buildIn(arena.Of[Node](a), depth)
	return func() int {
		defer a.Free()
		return n.count()
	}
}

func buildIn(h *arena.Handle[Node], depth int) *Node {
	if depth == 0 {
		return h.New()
	}
	left, right := buildIn(h, depth-1), buildIn(h, depth-1)
	n := h.New()
	n.left, n.right = left, right
	return n
}
