package auto_test

import (
	"fmt"

	"github.com/foliomem/folio/auto"
)

// What the import did, for a page of metrics. In a test binary, as here, it starts nothing.
func Example() {
	heap, gc := auto.Heap().Stats(), auto.Tuner().Stats()
	fmt.Printf("%.0f%% of the heap is on huge pages\n", 100*heap.Coverage())
	fmt.Printf("%d changes of GOGC\n", gc.GOGCChanges)
	// Output:
	// 0% of the heap is on huge pages
	// 0 changes of GOGC
}
