package handle

import "github.com/foliomem/folio/arena"

type Node struct{ X int }

type tree struct {
	a     *arena.Arena
	nodes *arena.Handle[Node]
}

var nodes *arena.Handle[Node]

func after() {
	a := arena.NewArena()
	h := arena.Of[Node](a)
	h.New().X++
	a.Free()
	h.New().X++ // want `the handle is used after Free in line 18 of its arena`
}

func afterReset() {
	a := arena.NewArena()
	defer a.Free()
	h := arena.Of[Node](a)
	h.New().X++
	a.Reset()
	h.New().X++
}

func returned() *arena.Handle[Node] {
	a := arena.NewArena()
	defer a.Free()
	return arena.Of[Node](a) // want `a handle is returned, but the deferred Free in line 33 ends its arena`
}

func kept() {
	a := arena.NewArena()
	defer a.Free()
	nodes = arena.Of[Node](a) // want `a handle is kept outside of the function, but the deferred Free in line 39 ends its arena`
}

func (t *tree) keptInField() {
	a := arena.NewArena()
	t.nodes = arena.Of[Node](a) // want `a handle is kept outside of the function`
	a.Free()
}

func newTree() *tree {
	a := arena.NewArena()
	return &tree{a, arena.Of[Node](a)}
}

func (t *tree) again() {
	t.a.Free()
	t.a = arena.NewArena()
	t.nodes = arena.Of[Node](t.a)
	t.nodes.New().X++
}

func inStruct() {
	t := newTree()
	t.nodes.New().X++
	t.a.Free()
}
