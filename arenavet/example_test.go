package arenavet_test

import (
	"fmt"

	"github.com/foliomem/folio/arenavet"
)

// The names by which folio vet and go vet select analyzers, as in folio vet -arenause ./...
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
