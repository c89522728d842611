package use

import (
	"facts/lib"

	"github.com/foliomem/folio/arena"
)

func kept() {
	a := arena.NewArena()
	lib.Keep(a)
}

func leaks() int {
	a := lib.Make() // leak
	return lib.Build(a).X
}
