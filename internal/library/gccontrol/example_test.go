package gccontrol_test

import (
	"fmt"

	"github.com/foliomem/folio/internal/library/gccontrol"
)

// A Controller can be asked what it would do, without a process to tune.
func ExampleController() {
	c := gccontrol.NewController(gccontrol.Params{})
	s := gccontrol.Sample{GOGC: 100, MemoryLimit: 1 << 40, Budget: 1 << 30}
	c.Next(s)
	// A second later: 10 GC cycles took a fifth of the CPU time.
	s.Time, s.Cycles, s.CPU, s.GCTime = 1e9, 10, 2e9, 4e8
	s.Allocated, s.Live = 1<<30, 100<<20
	d := c.Next(s)
	fmt.Printf("%v because %v: GOGC %d\n", d.State, d.Reason, d.GOGC)
	// Output: spending because GC costs too much: GOGC 400
}
