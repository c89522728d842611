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
