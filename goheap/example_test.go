package goheap_test

import (
	"errors"
	"fmt"
	"log"

	"github.com/foliomem/folio/goheap"
	"github.com/foliomem/folio/page"
)

// A service starts an advisor first, and runs without one where there are no huge pages.
func Example() {
	advisor, err := goheap.Start(nil)
	switch {
	case errors.Is(err, page.ErrNotSupported): // not Linux, or before 6.1
	case err != nil:
		log.Print(err)
	}
	defer advisor.Stop() // does nothing if Start failed

	// ...

	s := advisor.Stats()
	log.Printf("%d MiB of heap, %.0f%% on huge pages", s.Resident>>20, 100*s.Coverage())
	for _, hazard := range s.Hazards {
		log.Print(hazard)
	}
	fmt.Println(s.Windows.Collapsed, "windows collapsed") // this heap is small
	// Output: 0 windows collapsed
}
