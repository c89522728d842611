package finalizer

import (
	"runtime"
	"weak"

	"github.com/foliomem/folio/arena"
)

type Node struct {
	X    int
	next *Node
}

type tree struct {
	a    *arena.Arena
	root *Node
}

func value(a *arena.Arena) {
	n := arena.New[Node](a)
	runtime.SetFinalizer(n, func(n *Node) {})             // want `runtime.SetFinalizer of memory of the arena: it crashes the program, or is for the whole slab`
	runtime.AddCleanup(n, func(x int) {}, 1)              // want `runtime.AddCleanup of memory of the arena: it is for the whole slab, and may run long after Free, or never`
	w := weak.Make(n)                                     // want `weak.Make of memory of the arena: it is for the whole slab, and may become nil long after Free, or never`
	runtime.AddCleanup(&n.X, func(x int) {}, w.Value().X) // want `runtime.AddCleanup of memory of the arena`
}

func element() {
	a := arena.NewArena()
	defer a.Free()
	s := arena.MakeSlice[Node](a, 4, 4)
	runtime.AddCleanup(&s[2], func(x int) {}, 1) // want `runtime.AddCleanup of memory of the arena`
}

func byCall(a *arena.Arena) {
	runtime.SetFinalizer(newNode(a), func(n *Node) {}) // want `runtime.SetFinalizer of memory of the arena`
}

func newNode(a *arena.Arena) *Node { return arena.New[Node](a) }

func inField(a *arena.Arena) {
	t := &tree{a: a}
	t.root = arena.New[Node](t.a)
	_ = weak.Make(t.root) // want `weak.Make of memory of the arena`
}

func deferred(a *arena.Arena) {
	n := arena.New[Node](a)
	defer runtime.AddCleanup(n, func(x int) {}, 1) // want `runtime.AddCleanup of memory of the arena`
}

// What is on the heap may have them.

func heap(a *arena.Arena) {
	n := &Node{}
	runtime.SetFinalizer(n, func(n *Node) {})
	runtime.AddCleanup(n, func(x int) {}, 1)
	_ = weak.Make(n)
	c := arena.Clone(arena.New[Node](a))
	runtime.AddCleanup(c, func(x int) {}, 1)
}

func arenaItself() *arena.Arena {
	a := arena.NewArena()
	runtime.SetFinalizer(a, (*arena.Arena).Free)
	_ = weak.Make(a)
	return a
}

func either(a *arena.Arena, early bool) {
	n := &Node{}
	if early {
		n = arena.New[Node](a)
	}
	runtime.AddCleanup(n, func(x int) {}, 1)
}

func removed(a *arena.Arena) {
	runtime.SetFinalizer(arena.New[Node](a), nil)
}

func unknown(t *tree) {
	runtime.AddCleanup(t.root, func(x int) {}, 1)
	runtime.AddCleanup(t, func(n *Node) {}, t.root)
}
