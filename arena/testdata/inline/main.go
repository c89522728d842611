// Inline is compiled to see that Handle.New is inlined into its callers.
package main

import "github.com/foliomem/folio/arena"

type node struct{ left, right *node }

func main() {
	a := arena.NewArena()
	h := arena.Of[node](a)
	n := h.New()
	n.left, n.right = h.New(), h.New()
	a.Free()
}
