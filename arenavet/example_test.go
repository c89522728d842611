package arenavet_test

import (
	"fmt"

	"github.com/foliomem/folio/arenavet"
)

// A vet tool of one's own takes these analyzers beside others, with
// multichecker.Main(arenavet.Analyzers()...).
func ExampleAnalyzers() {
	for _, a := range arenavet.Analyzers() {
		fmt.Println(a.Name)
	}
	// Output:
	// arenause
	// arenafree
	// arenaescape
	// arenaappend
	// arenagoroutine
	// arenahandle
	// mappingclose
	// arenafinalizer
	// gctunefight
}
