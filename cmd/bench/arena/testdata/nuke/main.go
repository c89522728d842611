// Nuke measures cells of the table of cmd/bench/arena -objects in the arenas of
// github.com/ortuman/nuke. It is built in a module of its own, so that Folio does
// not require that package.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"unsafe"

	"github.com/foliomem/folio/cmd/bench/arena/internal/cell"
	"github.com/ortuman/nuke"
)

// One arena, reset after each group, with one buffer: New looks into all that
// there are.
var arena nuke.Arena

var arm = cell.Arm{
	Prepare: func(bytes int) { arena = nuke.NewMonotonicArena(bytes, 1) },
	Free: []func([]unsafe.Pointer){
		free[cell.N8], free[cell.N16], free[cell.N64], free[cell.N512], free[cell.N4096],
	},
	Linked: []func(int){
		linked[cell.P8], linked[cell.P16], linked[cell.P64], linked[cell.P512], linked[cell.P4096],
	},
}

func free[T any](hold []unsafe.Pointer) {
	for i := range hold {
		// Safety: T is at least a word, and has no pointers.
		p := unsafe.Pointer(nuke.New[T](arena))
		*(*uint64)(p) = uint64(i)
		hold[i] = p
	}
	arena.Reset(false)
}

func linked[T any](n int) {
	var before unsafe.Pointer
	for range n {
		// Safety: T begins with a pointer. The GC does not see it, but it
		// points into the arena, which is held.
		p := unsafe.Pointer(nuke.New[T](arena))
		*(*unsafe.Pointer)(p) = before
		before = p
	}
	arena.Reset(false)
}

func main() {
	if err := cell.Main(os.Stdout, map[string]cell.Arm{"nuke": arm}, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "nuke:", err)
		os.Exit(2)
	}
}
