package gctune_test

import (
	"fmt"
	"log"
	"log/slog"
	"sync/atomic"

	"github.com/foliomem/folio/gctune"
)

func ExampleStart() {
	var requests atomic.Uint64
	tuner, err := gctune.Start(&gctune.Options{
		Throughput: requests.Load,
		Log:        slog.Default(),
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

// The figures of a tuner, for a log or a dashboard.
func ExampleTuner_Stats() {
	tuner, err := gctune.Start(nil)
	if err != nil {
		log.Print(err)
		return
	}
	defer tuner.Stop()

	s := tuner.Stats()
	log.Printf("gctune %v (%s): GOGC=%d, budget %d MiB (%s), GC takes %.1f%% of CPU time",
		s.State, s.Reason, s.GOGC, s.Budget>>20, s.BudgetSource, 100*s.Cost)
	switch {
	case s.State == gctune.StateEmergency:
		log.Printf("%d MiB too little memory", s.Short>>20)
	case s.Growth > 0:
		log.Printf("the live heap grows by %.0f bytes per second: a leak?", s.Growth)
	}
	fmt.Println(s.State)
	// Output: inactive
}

// A program that shares its container with another one leaves it room while that runs.
func ExampleTuner_SetBudget() {
	tuner, err := gctune.Start(&gctune.Options{Budget: 64 << 20})
	if err != nil {
		log.Print(err)
		return
	}
	defer tuner.Stop()
	fmt.Println(tuner.Stats().Budget>>20, "MiB")

	tuner.SetBudget(0) // the other program has ended: all that the container allows
	// Output: 64 MiB
}
