// Pool measures how many requests per second several goroutines serve that each
// need memory for a short time: the program of cmd/bench/arena -pool.
//
//	pool -with new|sync.Pool|slices|folio [-goroutines 1] [-objects 64]
//
// A request allocates some objects of 48 bytes, links them, adds up what they
// hold, and lets them go.
package main

import (
	"flag"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/arena"
)

type object struct {
	next *object
	name string
	n    int
	_    [2]int
}

// request serves one request of n objects and returns their sum.
type request func(n int) int

var requests = map[string]request{
	"new":       plain,
	"sync.Pool": pooled,
	"slices":    sliced,
	"folio":     inArena,
}

// sum reads what a request made.
func sum(o *object) (n int) {
	for ; o != nil; o = o.next {
		n += o.n + len(o.name)
	}
	return n
}

// plain leaves the objects to the GC.
func plain(n int) int {
	var first *object
	for i := range n {
		first = &object{next: first, name: "name", n: i}
	}
	return sum(first)
}

var objects = sync.Pool{New: func() any { return new(object) }}

// pooled takes every object from a sync.Pool and puts it back.
func pooled(n int) int {
	var first *object
	for i := range n {
		o := objects.Get().(*object)
		*o = object{next: first, name: "name", n: i}
		first = o
	}
	total := sum(first)
	for first != nil {
		o := first
		first = o.next
		*o = object{} // else what it points to would live on
		objects.Put(o)
	}
	return total
}

var slices = sync.Pool{New: func() any { return new([]object) }}

// sliced takes one slice for all objects from a sync.Pool: what can be done by
// hand when their number and the only type are known.
func sliced(n int) int {
	s := slices.Get().(*[]object)
	if cap(*s) < n {
		*s = make([]object, n)
	}
	all := (*s)[:n]
	var first *object
	for i := range all {
		o := &all[i]
		o.next, o.name, o.n = first, "name", i
		first = o
	}
	total := sum(first)
	clear(all)
	slices.Put(s)
	return total
}

var arenas arena.Pool

// inArena takes an arena from an arena.Pool.
func inArena(n int) int {
	a := arenas.Get()
	h := arena.Of[object](a)
	var first *object
	for i := range n {
		o := h.New()
		o.next, o.name, o.n = first, "name", i
		first = o
	}
	total := sum(first)
	arenas.Put(a)
	return total
}

func main() {
	with := flag.String("with", "new", "new, sync.Pool, slices or folio")
	goroutines := flag.Int("goroutines", 1, "goroutines that serve requests")
	n := flag.Int("objects", 64, "objects of a request")
	enough := flag.Duration("for", 300*time.Millisecond, "how long")
	flag.Parse()
	f, ok := requests[*with]
	if !ok || *goroutines < 1 || *n < 1 {
		fmt.Fprintln(os.Stderr, "pool: -with new, sync.Pool, slices or folio; -goroutines and -objects at least 1")
		os.Exit(2)
	}
	if err := serve(f, *goroutines, *n, *enough); err != nil {
		fmt.Fprintln(os.Stderr, "pool:", err)
		os.Exit(1)
	}
}

// serve writes how many requests were served and how many nanoseconds that took.
func serve(f request, goroutines, n int, enough time.Duration) error {
	want := n*(n-1)/2 + n*len("name")
	batch := 1 + 10_000/n // requests between two looks at the clock
	var served, wrong atomic.Int64
	var wg sync.WaitGroup
	start := time.Now()
	for range goroutines {
		wg.Go(func() {
			mine := int64(0)
			for time.Since(start) < enough {
				for range batch {
					if f(n) != want {
						wrong.Add(1)
					}
				}
				mine += int64(batch)
			}
			served.Add(mine)
		})
	}
	wg.Wait()
	took := time.Since(start)
	if wrong.Load() > 0 {
		return fmt.Errorf("%d requests found wrong contents", wrong.Load())
	}
	_, err := fmt.Println(served.Load(), took.Nanoseconds())
	return err
}
