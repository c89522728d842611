package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Free reports arenas that are not freed, or twice.
var Free = of(flow.Free, "arenafree", `check for arenas that are not freed, or freed twice

An arena that is not freed is not a leak, but its memory is not reused before
the GC finds it. Reported are arenas that a function makes, keeps to
itself and does not free on some return path. In main.main they need not be.
Freeing an arena twice panics.

	a := arena.NewArena()
	if err != nil {
		return err // the arena is not freed here
	}
	a.Free()

The fix is a deferred Free where the arena is made, or to remove a Free that a
deferred one repeats.`)
