package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Escape reports memory that outlives its arena.
var Escape = of(flow.Escape, "arenaescape", `check for memory that outlives its arena

Reported is memory of an arena that a function frees, if it is also returned
from there, kept in a global variable, in an object of the caller or in a map,
sent on a channel, or used by a goroutine that the function does not wait for.

	func name(in []byte) string {
		a := arena.NewArena()
		defer a.Free()
		return arena.String(a, string(in)) // is returned, but Free ends it
	}

The fix, for strings and for pointers to and slices of what has no pointers
itself, is arena.Clone.`)
