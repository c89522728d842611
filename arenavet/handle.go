package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Handle reports handles that outlive their arena.
var Handle = of(flow.Handle, "arenahandle", `check for handles that are used or kept after their arena is freed

A handle of arena.Of lives as long as its arena, and panics after Free.

	h := arena.Of[Node](a)
	a.Free()
	h.New() // the handle is used after Free of its arena

Reset leaves handles valid.`)
