package page_test

import (
	"errors"
	"fmt"
	"log"
	"runtime"

	"github.com/foliomem/folio/page"
)

// A large table on huge pages, allocated before it is used.
func ExampleMap() {
	m, err := page.Map(64<<20, &page.Options{Kind: page.THP, Populate: true, Name: "table"})
	if errors.Is(err, page.ErrNotSupported) {
		m, err = page.Map(64<<20, nil) // a Linux without huge pages; on other systems this fails, too
	}
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	table := m.Bytes()
	table[0] = 1
	fmt.Printf("%d MiB\n", len(table)>>20)

	// Residency tells whether it is on huge pages, Allowed why it is not.
	if r, err := m.Residency(); err == nil {
		log.Printf("%.0f%% on huge pages", 100*r.Coverage())
	}
	if err := page.Allowed(page.THP); err != nil {
		log.Print(err)
	}
	// Output: 64 MiB
}

// Memory that is used from its start to its end, populated 2 MiB at a time.
func ExampleMapping_PopulateAhead() {
	m, err := page.Map(64<<20, &page.Options{Kind: page.THP})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	b := m.Bytes()
	const record = "a record of a log\n"
	n := 0
	for range 100_000 {
		if err := m.PopulateAhead(n + len(record)); err != nil {
			log.Fatal(err)
		}
		n += copy(b[n:], record)
	}
	fmt.Println(n, "bytes")
	// Output: 1800000 bytes
}

// A cache drops half of its entries, and returns their memory to the OS.
func ExampleMapping_Release() {
	m, err := page.Map(64<<20, &page.Options{Populate: true})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	n, err := m.Release(m.Len()/2, m.Len()/2, page.ReleaseDontNeed, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%d MiB returned\n", n>>20)
	// Output: 32 MiB returned
}

// Memory of the Go heap on huge pages.
func ExampleRange_Collapse() {
	table := make([]uint64, 4<<20)
	for i := range table {
		table[i] = uint64(i)
	}
	c, err := page.RangeOf(table).Collapse(nil)
	switch {
	case err != nil: // wraps page.ErrNotSupported before Linux 6.1
		log.Print(err)
	case c.Refused > 0:
		log.Printf("%d windows collapsed, %d refused, at last: %v", c.Collapsed, c.Refused, c.Reason)
	}
	runtime.KeepAlive(table) // a Range does not keep it alive
	fmt.Println(table[len(table)-1])
	// Output: 4194303
}

// The whole windows within a range, and the windows that it is part of.
func ExampleRange_Inward() {
	r := page.Range{Start: 0x1ff000, End: 0x5ff000}
	fmt.Println(r.Inward(2<<20), r.Outward(2<<20))
	// Output: 200000-400000 0-600000
}
