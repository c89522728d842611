package goheap_test

import (
	"errors"
	"log"

	"github.com/foliomem/folio/goheap"
	"github.com/foliomem/folio/page"
)

// A service begins with this. It runs on where there is nothing to be had.
func Example() {
	advisor, err := goheap.Start(&goheap.Options{Reserve: 4 << 30})
	if errors.Is(err, page.ErrNotSupported) {
		return // not Linux, or an old kernel
	}
	if err != nil {
		log.Print(err)
		return
	}
	defer advisor.Stop()

	// ...

	s := advisor.Stats()
	log.Printf("%d MiB of heap, %.0f%% in huge pages", s.Resident>>20, 100*s.Coverage())
	for _, hazard := range s.Hazards {
		log.Print(hazard)
	}
}
