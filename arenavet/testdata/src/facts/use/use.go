package use

import (
	"facts/lib"

	"github.com/foliomem/folio/arena"
)

func build() int {
	a := arena.NewArena()
	n := lib.Build(a)
	m := lib.Identity(n)
	lib.End(a)
	return m.X // want `memory of the arena is used after Free by End in line 13`
}

func doc() {
	d := lib.Parse()
	n := d.NewNode()
	n.X = 1
	d.Close()
	n.X = 2 // want `memory of the arena is used after Free by Close`
}

func made() {
	a := lib.Make()
	n := lib.Build(a)
	a.Free()
	n.X = 1    // want `memory of the arena is used after Free`
	lib.Use(a) // want `the arena is used after Free`
}

func maybe(x bool) {
	a := lib.Make()
	n := lib.Build(a)
	lib.Maybe(a, x)
	n.X = 1
}

func noArenaHere() int {
	return lib.Parse().Root.X
}

func renewed(p *lib.Pooled) {
	p.Renew()
	n := p.NewNode()
	n.X = 1
	p.Renew()
	m := p.NewNode()
	m.X = 2
}
