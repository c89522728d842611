package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Finalizer reports finalizers, cleanups and weak pointers of an arena's memory.
var Finalizer = of(flow.Finalizer, "arenafinalizer", `check for finalizers, cleanups and weak pointers of an arena's memory

A value of an arena is a part of a slab. runtime.SetFinalizer crashes the
program for most values. A cleanup (runtime.AddCleanup) runs, and a weak pointer
(weak.Make) becomes nil, when the GC has freed the slab: long after Free, or
never, as slabs are reused. For values of Go's experimental arenas, AddCleanup
panics.

	n := arena.New[Node](a)
	runtime.AddCleanup(n, closeFile, fd) // it is for the whole slab

Attach them to an object on the heap that refers to the arena, or to the arena.`)
