// Package cell measures what an object costs when many are allocated, held all
// together, and let go together. A cell is one way to do so, one size of object,
// with or without pointers, and one size of the whole.
//
// It imports the standard library alone: programs outside the module use it too.
package cell

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// The objects without pointers, by size in bytes.
type (
	N8    [1]uint64
	N16   [2]uint64
	N64   [8]uint64
	N512  [64]uint64
	N4096 [512]uint64
)

// A Pair is as a string: a pointer and a number.
type Pair struct {
	P unsafe.Pointer
	N uint64
}

// The objects with pointers, by size in bytes: every other word is one, as it is
// in a struct of strings. The first points to the object that was allocated
// before, so that the last one holds all.
type (
	P8    [1]unsafe.Pointer
	P16   [1]Pair
	P64   [4]Pair
	P512  [32]Pair
	P4096 [256]Pair
)

// Sizes are those of the objects, in the order of the functions of an Arm.
var Sizes = []int{8, 16, 64, 512, 4096}

// An Arm is a way to allocate, by size of the objects. Its functions allocate
// and free one group.
type Arm struct {
	// Free are for objects without pointers: each writes to its objects' first
	// word and puts them into hold, which has their number as its length.
	Free []func(hold []unsafe.Pointer)
	// Linked are for objects with pointers: each stores in its objects' first word
	// a pointer to the one before.
	Linked []func(n int)
	// Prepare is called first, with the size of a group in bytes; nil if there is
	// nothing to do.
	Prepare func(bytes int)
}

// enough is how long a cell is measured; a large group takes longer.
const enough = 100 * time.Millisecond

// Main runs the cell that the arguments describe, and writes how many objects it
// allocated and how many nanoseconds that took. There is no warming up: a process
// pays the page faults of its first group.
func Main(w io.Writer, arms map[string]Arm, args []string) error {
	f := flag.NewFlagSet("objects", flag.ContinueOnError)
	name := f.String("arm", "", "one of "+strings.Join(slices.Sorted(maps.Keys(arms)), ", "))
	size := f.Int("size", 16, "size of the objects in bytes")
	pointers := f.Bool("pointers", false, "objects have pointers")
	group := f.Int("arena", 1<<20, "bytes of objects that are allocated and freed together")
	if err := f.Parse(args); err != nil {
		return err
	}
	arm, ok := arms[*name]
	if !ok {
		return fmt.Errorf("-arm %s: not known", *name)
	}
	i := slices.Index(Sizes, *size)
	if i < 0 {
		return fmt.Errorf("-size %d: give one of %v", *size, Sizes)
	}
	n := *group / *size
	if n < 1 {
		return fmt.Errorf("-arena %d: less than an object", *group)
	}
	if arm.Prepare != nil {
		arm.Prepare(n * *size)
	}
	hold := []unsafe.Pointer(nil)
	if !*pointers {
		hold = make([]unsafe.Pointer, n)
	}
	// Several groups between two looks at the clock: looking costs as much as
	// some objects.
	batch, objects := 1+1000/n, 0
	start := time.Now()
	took := time.Duration(0)
	for took < enough {
		for range batch {
			if *pointers {
				arm.Linked[i](n)
			} else {
				arm.Free[i](hold)
				clear(hold) // a group is let go before the next one begins
			}
		}
		objects += batch * n
		took = time.Since(start)
	}
	_, err := fmt.Fprintln(w, objects, took.Nanoseconds())
	return err
}
