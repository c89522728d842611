//go:build goexperiment.arenas

package main

import (
	"arena"
	"unsafe"

	"github.com/foliomem/folio/cmd/bench/arena/internal/cell"
)

func init() { arms["goarena"] = goArena }

// goArena allocates in the arenas of Go's experiment.
var goArena = cell.Arm{
	Free: []func([]unsafe.Pointer){
		goFree[cell.N8], goFree[cell.N16], goFree[cell.N64], goFree[cell.N512], goFree[cell.N4096],
	},
	Linked: []func(int){
		goLinked[cell.P8], goLinked[cell.P16], goLinked[cell.P64], goLinked[cell.P512], goLinked[cell.P4096],
	},
}

func goFree[T any](hold []unsafe.Pointer) {
	a := arena.NewArena()
	for i := range hold {
		// Safety: T is at least a word, and has no pointers.
		p := unsafe.Pointer(arena.New[T](a))
		*(*uint64)(p) = uint64(i)
		hold[i] = p
	}
	a.Free()
}

func goLinked[T any](n int) {
	a := arena.NewArena()
	var before unsafe.Pointer
	for range n {
		// Safety: T begins with a pointer.
		p := unsafe.Pointer(arena.New[T](a))
		*(*unsafe.Pointer)(p) = before
		before = p
	}
	a.Free()
}
