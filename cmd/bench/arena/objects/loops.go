package main

import (
	"flag"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/arena"
)

type node struct{ left, right *node }

// loops are work that a goroutine does again and again: each returns a function that
// allocates n objects of 16 bytes, fills them in and frees them.
var loops = map[string]func(n int) func(){
	"steady": func(n int) func() {
		a := arena.NewArena()
		h := arena.Of[node](a)
		return func() {
			for range n {
				p := h.New()
				p.left, p.right = p, p
			}
			a.Reset()
		}
	},
	"steady-new": func(n int) func() {
		a := arena.NewArena()
		return func() {
			for range n {
				p := arena.New[node](a)
				p.left, p.right = p, p
			}
			a.Reset()
		}
	},
	"come-and-go": func(n int) func() {
		return func() {
			a := arena.NewArena()
			h := arena.Of[node](a)
			for range n {
				p := h.New()
				p.left, p.right = p, p
			}
			a.Free()
		}
	},
}

// loop writes how many objects the goroutines allocated in one of the loops, and how many nanoseconds
// that took, once they had their memory.
func loop(w io.Writer, name string, args []string) error {
	f := flag.NewFlagSet("objects -arm "+name, flag.ContinueOnError)
	threads := f.Int("threads", 1, "goroutines, each with arenas of its own")
	bytes := f.Int("arena", 64<<10, "bytes of objects that are allocated and freed together")
	if err := f.Parse(args); err != nil {
		return err
	}
	n := *bytes / 16
	if n < 1 || *threads < 1 {
		return fmt.Errorf("-arena %d -threads %d: give 16 and 1 at least", *bytes, *threads)
	}
	const enough = 600 * time.Millisecond
	rounds := 1 + 1<<18/n // between two looks at the clock
	var total atomic.Int64
	var ready, done sync.WaitGroup
	var start time.Time
	begin := make(chan struct{})
	for range *threads {
		ready.Add(1)
		done.Go(func() {
			mine, round := 0, loops[name](n)
			round() // the slabs are made and touched
			round()
			ready.Done()
			<-begin
			for time.Since(start) < enough {
				for range rounds {
					round()
				}
				mine += rounds * n
			}
			total.Add(int64(mine))
		})
	}
	ready.Wait()
	start = time.Now()
	close(begin)
	done.Wait()
	_, err := fmt.Fprintln(w, total.Load(), time.Since(start).Nanoseconds())
	return err
}
