package main

import (
	"unsafe"

	"github.com/foliomem/folio/arena"
	"github.com/foliomem/folio/cmd/bench/arena/internal/cell"
)

// folioOf allocates through the handle of the type.
var folioOf = cell.Arm{
	Free: []func([]unsafe.Pointer){
		ofFree[cell.N8], ofFree[cell.N16], ofFree[cell.N64], ofFree[cell.N512], ofFree[cell.N4096],
	},
	Linked: []func(int){
		ofLinked[cell.P8], ofLinked[cell.P16], ofLinked[cell.P64], ofLinked[cell.P512], ofLinked[cell.P4096],
	},
}

func ofFree[T any](hold []unsafe.Pointer) {
	a := arena.NewArena()
	h := arena.Of[T](a)
	for i := range hold {
		// Safety: T is at least a word, and has no pointers.
		p := unsafe.Pointer(h.New())
		*(*uint64)(p) = uint64(i)
		hold[i] = p
	}
	a.Free()
}

func ofLinked[T any](n int) {
	a := arena.NewArena()
	h := arena.Of[T](a)
	var before unsafe.Pointer
	for range n {
		// Safety: T begins with a pointer.
		p := unsafe.Pointer(h.New())
		*(*unsafe.Pointer)(p) = before
		before = p
	}
	a.Free()
}

// folioNew allocates with the function New, which has the arena look for the
// handle each time.
var folioNew = cell.Arm{
	Free: []func([]unsafe.Pointer){
		folioFree[cell.N8], folioFree[cell.N16], folioFree[cell.N64], folioFree[cell.N512], folioFree[cell.N4096],
	},
	Linked: []func(int){
		folioLinked[cell.P8], folioLinked[cell.P16], folioLinked[cell.P64], folioLinked[cell.P512], folioLinked[cell.P4096],
	},
}

func folioFree[T any](hold []unsafe.Pointer) {
	a := arena.NewArena()
	for i := range hold {
		// Safety: T is at least a word, and has no pointers.
		p := unsafe.Pointer(arena.New[T](a))
		*(*uint64)(p) = uint64(i)
		hold[i] = p
	}
	a.Free()
}

func folioLinked[T any](n int) {
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
