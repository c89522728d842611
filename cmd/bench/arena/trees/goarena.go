//go:build goexperiment.arenas

package main

import (
	"arena"
	"runtime"
)

func init() {
	allocators["goarena"] = func() allocator { return goArena{} }
}

// goArena allocates in the arenas of Go's experiment.
type goArena struct{}

func (goArena) worker() func(trees, depth int) int {
	return func(trees, depth int) (nodes int) {
		for trees > 0 {
			a := arena.NewArena()
			for used := 0; trees > 0 && (used == 0 || used < flags.batch); trees-- {
				n := buildInGo(a, depth).count()
				nodes += n
				used += n * nodeBytes
			}
			a.Free()
		}
		return nodes
	}
}

func (goArena) keep(depth int) func() int {
	a := arena.NewArena()
	n := buildInGo(a, depth)
	return func() int {
		defer runtime.KeepAlive(a) // an arena that nothing refers to is freed
		return n.count()
	}
}

func buildInGo(a *arena.Arena, depth int) *Node {
	if depth == 0 {
		return arena.New[Node](a)
	}
	left, right := buildInGo(a, depth-1), buildInGo(a, depth-1)
	n := arena.New[Node](a)
	n.left, n.right = left, right
	return n
}
