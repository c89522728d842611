package goroutine

import (
	"sync"

	"github.com/foliomem/folio/arena"
)

type Node struct{ X int }

func loop(n int) {
	a := arena.NewArena()
	defer a.Free()
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { // want `the goroutines that this starts all allocate from one arena`
			arena.New[Node](a).X++
		})
	}
	wg.Wait()
}

func handles(n int) {
	a := arena.NewArena()
	defer a.Free()
	h := arena.Of[Node](a)
	var wg sync.WaitGroup
	for range n {
		wg.Add(1)
		go func() { // want `the goroutines that this starts all allocate from one arena`
			defer wg.Done()
			h.New().X++
		}()
	}
	wg.Wait()
}

func parameter(a *arena.Arena, n int) {
	for range n {
		go work(a) // want `the goroutines that this starts all allocate from one arena`
	}
}

func work(a *arena.Arena) { arena.New[Node](a).X++ }

func parent() {
	a := arena.NewArena()
	defer a.Free()
	var wg sync.WaitGroup
	wg.Go(func() { work(a) })
	n := arena.New[Node](a) // want `allocates from an arena that the goroutine started in line 50 allocates from`
	wg.Wait()
	n.X++
}

func two() {
	a := arena.NewArena()
	defer a.Free()
	var wg sync.WaitGroup
	wg.Go(func() { work(a) })
	wg.Go(func() { work(a) }) // want `this goroutine allocates from an arena that the one started in line 60 allocates from`
	wg.Wait()
}

func each(n int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			a := arena.NewArena()
			defer a.Free()
			work(a)
		})
	}
	wg.Wait()
}

func eachOutside(n int) {
	var wg sync.WaitGroup
	for range n {
		a := arena.NewArena()
		wg.Go(func() {
			defer a.Free()
			work(a)
		})
	}
	wg.Wait()
}

func mutex(n int) {
	a := arena.NewArena()
	defer a.Free()
	var wg sync.WaitGroup
	var mu sync.Mutex
	for range n {
		wg.Go(func() {
			mu.Lock()
			defer mu.Unlock()
			work(a)
		})
	}
	wg.Wait()
}

func before() {
	a := arena.NewArena()
	defer a.Free()
	n := arena.New[Node](a)
	var wg sync.WaitGroup
	wg.Go(func() { work(a) })
	wg.Wait()
	arena.New[Node](a).X += n.X
}

func oneByOne(n int) {
	a := arena.NewArena()
	defer a.Free()
	for range n {
		var wg sync.WaitGroup
		wg.Go(func() { work(a) })
		wg.Wait()
	}
}

func readers(n int) {
	a := arena.NewArena()
	defer a.Free()
	x := arena.New[Node](a)
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() { _ = x.X })
	}
	wg.Wait()
}

func pooled(p *arena.Pool, n int) {
	var wg sync.WaitGroup
	for range n {
		wg.Go(func() {
			a := p.Get()
			defer p.Put(a)
			work(a)
		})
	}
	wg.Wait()
}
