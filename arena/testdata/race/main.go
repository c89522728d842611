// Race uses one arena from two goroutines, which the race detector must see.
package main

import (
	"os"
	"sync"

	"github.com/foliomem/folio/arena"
)

func main() {
	a := arena.NewArena()
	arena.New[int](a)
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			switch os.Args[1] {
			case "handle":
				arena.Of[int](a).New()
			case "new":
				arena.New[int](a)
			case "slice":
				arena.MakeSlice[int](a, 1, 2)
			case "reset":
				a.Reset()
			case "none": // each its own
				a := arena.NewArena()
				arena.New[int](a)
				a.Free()
			}
		})
	}
	wg.Wait()
}
