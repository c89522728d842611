package fixappend

import "github.com/foliomem/folio/arena"

func parameter(a *arena.Arena, more []int) []int {
	s := arena.MakeSlice[int](a, 3, 3)
	s = append(s, 1, 2) // want `append moves`
	t := arena.MakeSlice[int](a, 1, 1)
	return append(t, more...) // want `append moves`
}

func made() int {
	a := arena.NewArena()
	defer a.Free()
	b := arena.Bytes(a, []byte("x"))
	b = append(b, 'y') // want `append moves`
	c := arena.Bytes(a, []byte("x"))
	c = append(c, "yz"...) // want `append moves`
	return len(b) + len(c)
}

func hidden(a *arena.Arena) []int {
	s := arena.MakeSlice[int](a, 3, 3)
	{
		a := 1
		s = append(s, a) // want `append moves`
	}
	return s
}
