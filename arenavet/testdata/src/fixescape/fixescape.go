package fixescape

import "github.com/foliomem/folio/arena"

type flat struct{ X, Y int }

type deep struct{ next *deep }

func text(s string) (string, error) {
	a := arena.NewArena()
	defer a.Free()
	return arena.String(a, s), nil // want `memory of the arena is returned`
}

func pointer() *flat {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[flat](a)
	return n // want `memory of the arena is returned`
}

func list(n int) []int {
	a := arena.NewArena()
	defer a.Free()
	l := arena.MakeSlice[int](a, n, n)
	return l[1:] // want `memory of the arena is returned`
}

// A shallow copy would not do.
func linked() *deep {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[deep](a)
	return n // want `memory of the arena is returned`
}
