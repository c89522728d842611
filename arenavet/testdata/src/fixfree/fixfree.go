package fixfree

import "github.com/foliomem/folio/arena"

func never() {
	a := arena.NewArena() // want `the arena is never freed`
	*arena.New[int](a) = 1
}

func onError(err error) error {
	if err == nil {
		a := arena.NewArena() // want `the arena is never freed`
		*arena.New[int](a) = 1
	}
	return err
}

func twice() {
	a := arena.NewArena()
	defer a.Free() // want `the deferred Free comes after Free`
	*arena.New[int](a) = 1
	a.Free()
}

func again() {
	a := arena.NewArena()
	a.Free()
	a.Free() // want `Free of an arena after Free`
}
