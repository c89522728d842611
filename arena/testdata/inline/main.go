// Inline is compiled to see that Handle.New is inlined into its callers, and that arenas
// which do not leave their function are on the stack.
package main

import "github.com/foliomem/folio/arena"

type node struct{ left, right *node }

func main() {
	a := arena.NewArena()
	h := arena.Of[node](a)
	n := h.New()
	n.left, n.right = h.New(), h.New()
	a.Free()
	all()
}

// all does with an arena all that there is.
func all() {
	a := arena.NewArenaWith(&arena.Options{SlabBytes: 1 << 16})
	h := arena.Of[node](a)
	fill(h, 3)
	arena.New[node](a).left = arena.New[node](a)
	s := arena.MakeSlice[int](a, 1, 2)
	s = arena.Append(a, s, 1, 2)
	s = arena.AppendSlice(a, s, s)
	t := arena.String(a, "text")
	b := arena.Bytes(a, []byte(t))
	println(len(s), len(b), a.Stats().Objects)
	a.Reset()
	a.Free()
}

func fill(h *arena.Handle[node], depth int) *node {
	if depth == 0 {
		return nil
	}
	left, right := fill(h, depth-1), fill(h, depth-1)
	n := h.New()
	n.left, n.right = left, right
	return n
}
