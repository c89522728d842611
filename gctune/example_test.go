package gctune_test

import (
	"fmt"
	"log"
	"sync/atomic"

	"github.com/foliomem/folio/gctune"
)

func ExampleStart() {
	var requests atomic.Uint64
	tuner, err := gctune.Start(&gctune.Options{
		Throughput: requests.Load,
		Logf:       log.Printf,
		OnUnmet: func(u gctune.Unmet) {
			log.Printf("%d bytes too little memory: dropping the cache", u.Short)
		},
	})
	if err != nil {
		log.Print(err) // the program runs on as Go would run it
		return
	}
	defer tuner.Stop()
	fmt.Println(tuner.Stats().State)
	// Output: inactive
}

// A Controller can be asked what it would do, without a process to tune.
func ExampleController() {
	c := gctune.NewController(gctune.Params{})
	s := gctune.Sample{GOGC: 100, MemoryLimit: 1 << 40, Budget: 1 << 30}
	c.Next(s)
	// A second later: 10 GC cycles took a fifth of the CPU time.
	s.Time, s.Cycles, s.CPU, s.GCTime = 1e9, 10, 2e9, 4e8
	s.Allocated, s.Live = 1<<30, 100<<20
	d := c.Next(s)
	fmt.Printf("%v because %v: GOGC %d\n", d.State, d.Reason, d.GOGC)
	// Output: spending because GC costs too much: GOGC 400
}
