package page_test

import (
	"errors"
	"fmt"
	"log"
	"runtime"

	"github.com/foliomem/folio/page"
)

// A large table in huge pages, all of it allocated before it is used.
func ExampleMap() {
	m, err := page.Map(64<<20, &page.Options{Kind: page.THP, Populate: true, Name: "table"})
	if errors.Is(err, page.ErrNotSupported) {
		m, err = page.Map(64<<20, nil) // no huge pages here
	}
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	table := m.Bytes()
	table[0] = 1

	// Asking for huge pages is one thing, having them another.
	if r, err := m.Residency(); err == nil {
		fmt.Printf("%.0f%% in huge pages\n", 100*r.Coverage())
	}
	if err := page.Allowed(page.THP); err != nil {
		fmt.Println(err)
	}
}

// Memory that is used from its start to its end, populated 2 MiB at a time.
func ExampleMapping_PopulateAhead() {
	m, err := page.Map(1<<30, &page.Options{Kind: page.THP})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	b := m.Bytes()
	for i := 0; i < 100<<20; i += 4096 {
		if err := m.PopulateAhead(i + 4096); err != nil {
			log.Fatal(err)
		}
		copy(b[i:], "a record")
	}
}

// Memory of the Go heap can be put on huge pages as well.
func ExampleRange_Collapse() {
	table := make([]uint64, 32<<20)
	for i := range table {
		table[i] = uint64(i)
	}
	c, err := page.Of(table).Collapse(nil)
	switch {
	case errors.Is(err, page.ErrNotSupported):
		fmt.Println("no:", err)
	case err != nil:
		log.Fatal(err)
	case c.Refused > 0:
		fmt.Println("some were refused:", c.Reason)
	}
	runtime.KeepAlive(table) // a Range does not
}
