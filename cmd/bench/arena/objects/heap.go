package main

import (
	"unsafe"

	"github.com/foliomem/folio/cmd/bench/arena/internal/cell"
)

var heap = cell.Arm{
	Free: []func([]unsafe.Pointer){
		newFree[cell.N8], newFree[cell.N16], newFree[cell.N64], newFree[cell.N512], newFree[cell.N4096],
	},
	Linked: []func(int){
		newLinked[cell.P8], newLinked[cell.P16], newLinked[cell.P64], newLinked[cell.P512], newLinked[cell.P4096],
	},
}

func newFree[T any](hold []unsafe.Pointer) {
	for i := range hold {
		// Safety: T is at least a word, and has no pointers.
		p := unsafe.Pointer(new(T))
		*(*uint64)(p) = uint64(i)
		hold[i] = p
	}
}

func newLinked[T any](n int) {
	var before unsafe.Pointer
	for range n {
		// Safety: T begins with a pointer.
		p := unsafe.Pointer(new(T))
		*(*unsafe.Pointer)(p) = before
		before = p
	}
}
