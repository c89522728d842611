package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Goroutine reports arenas that several goroutines use.
var Goroutine = of(flow.Goroutine, "arenagoroutine", `check for arenas that several goroutines allocate from

An arena is for one goroutine at a time. Reported are goroutines that allocate
from an arena that others allocate from at the same time: those that the same
loop starts, and the function that starts them unless it waits. Goroutines
that lock a mutex, or wait in another way, are not reported.

	for range 4 {
		wg.Go(func() { arena.New[Node](a) }) // the goroutines all allocate from one arena
	}

Goroutines that each need an arena take it from an arena.Pool.`)
