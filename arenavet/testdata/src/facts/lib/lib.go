package lib

import "github.com/foliomem/folio/arena"

type Node struct {
	X    int
	Next *Node
}

type Doc struct {
	arena *arena.Arena // want arena:`settled`
	Root  *Node
}

func Build(a *arena.Arena) *Node { return New(a, 1) } // want Build:`Results:\[\{Kind:3 What:4 Path:\{Root:0 Steps:\[\] What:1\}`

func New(a *arena.Arena, x int) *Node { // want New:`Kind:3`
	n := arena.New[Node](a)
	n.X = x
	return n
}

func End(a *arena.Arena) { a.Free() } // want End:`Ends:\[\{Path:\{Root:0 Steps:\[\] What:1\} All:true Name:Free Replaced:false\}\]`

func Maybe(a *arena.Arena, x bool) { // want Maybe:`MayEnd:\[\{Root:0`
	if x {
		a.Free()
	}
}

func Make() *arena.Arena { // want Make:`Results:\[\{Kind:2`
	a := arena.NewArenaWith(&arena.Options{Name: "x"})
	return a
}

func Identity(n *Node) *Node { return n } // want Identity:`Kind:4`

func Parse() *Doc {
	a := arena.NewArena()
	return &Doc{arena: a, Root: arena.New[Node](a)}
}

func (d *Doc) NewNode() *Node { return arena.New[Node](d.arena) } // want NewNode:`Steps:\[.0\]`

func (d *Doc) Close() { d.arena.Free() } // want Close:`Ends:\[\{Path:\{Root:0 Steps:\[.0\]`

func Use(a *arena.Arena) { arena.New[Node](a).X++ } // want Use:`Allocs`

var last *arena.Arena

func Keep(a *arena.Arena) { last = a } // want Keep:`Keeps:\[0\]`

// Pooled frees its arena and takes a new one.
type Pooled struct{ arena *arena.Arena }

func (p *Pooled) Renew() { // want Renew:`Replaced:true`
	p.arena.Free()
	p.arena = arena.NewArena()
}

func (p *Pooled) NewNode() *Node { return arena.New[Node](p.arena) } // want NewNode:`Kind:3`
