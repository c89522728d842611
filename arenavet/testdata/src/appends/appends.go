package appends

import "github.com/foliomem/folio/arena"

func full(a *arena.Arena, n int) {
	s := arena.MakeSlice[int](a, 3, 3)
	s = append(s, 1) // want `append moves a slice of the arena to the heap: it has room for 0 more; arena.Append keeps it in the arena`
	t := arena.MakeSlice[int](a, n, n)
	t = append(t, s...) // want `append moves a slice of the arena to the heap: it has no room`
	u := arena.MakeSlice[int](a, 0, 2)
	u = append(u, 1, 2)
	u = append(u, 3) // want `it has room for 0 more`
	b := arena.Bytes(a, []byte("x"))
	b = append(b, "yz"...) // want `it has no room`
	_, _, _ = t, u, b
}

func roomy(a *arena.Arena, list []int) []int {
	s := arena.MakeSlice[int](a, 0, len(list))
	for _, x := range list {
		s = append(s, x)
	}
	u := arena.MakeSlice[int](a, 0, 2)
	u = append(u, 1, 2)
	v := arena.MakeSlice[int](a, 5, 5)
	v = append(v[:0], u...)
	s = arena.Append(a, s, v...)
	return arena.AppendSlice(a, s, u)
}

func loop(a *arena.Arena, list []int) []int {
	s := arena.MakeSlice[int](a, 0, 0)
	for _, x := range list {
		s = append(s, x) // want `append moves a slice of the arena to the heap`
	}
	return s
}

func mixed(a *arena.Arena, list []int) {
	var s []int
	for _, x := range list {
		s = arena.Append(a, s, x)
	}
	s = append(s, 1)
	var t []int
	t = arena.Append(a, t, 1)
	t = append(t, 2) // want `append moves a slice of the arena to the heap: where it has no room left`
	_ = t
}

func heap(a *arena.Arena, list []int) []int {
	s := make([]int, 3)
	return append(s, list...)
}

func noName() []int {
	return append(arena.MakeSlice[int](arena.NewArena(), 1, 1), 2) // want `make it large enough`
}
