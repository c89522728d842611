package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Append reports the built-in append to slices of arenas.
var Append = of(flow.Append, "arenaappend", `check for append to slices of an arena that have no room

The built-in append moves a slice of an arena to the heap once it has no
room: correct, but the arena then saves nothing. Reported are slices that are
known to be full (MakeSlice with as much length as capacity, Bytes) or too short
for what is appended, and slices from arena.Append.

	s := arena.MakeSlice[int](a, 3, 3)
	s = append(s, 4) // append moves a slice of the arena to the heap

The fix is arena.Append. A slice made with room is not reported.`)
