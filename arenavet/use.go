package arenavet

import "github.com/foliomem/folio/arenavet/internal/flow"

// Use reports uses of arenas and their memory after the end.
var Use = of(flow.Use, "arenause", `check for uses of an arena's memory after Free or Reset

After Free, Reset or Pool.Put, what was allocated from the arena may not be read,
written, passed on or returned: it shows zeros, or another value of its type. The
arena itself may not be used after Free and Put.

	n := arena.New[Node](a)
	a.Free()
	fmt.Println(n.Name) // memory of the arena is used after Free

The value is followed through copies, fields, slices, closures, deferred calls
and calls. Reported is what is wrong on every path to the use, or on every path
from the Free.`)
