// Dangling keeps a pointer past Free and exits with the number of reports.
package main

import (
	"os"

	"github.com/foliomem/folio/arena"
)

type node struct{ left, right *node }

var kept *node

func build() *arena.Arena {
	a := arena.NewArenaWith(&arena.Options{Name: "trees"})
	h := arena.Of[node](a)
	for range 10 {
		kept = h.New()
	}
	return a
}

func main() {
	build().Free()
	os.Exit(arena.CheckDangling())
}
