package metrics

import (
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// The classes of the contract are those of folio run.
func TestClasses(t *testing.T) {
	var memory, gc []string
	for _, c := range profile.Classes {
		if c.Memory {
			memory = append(memory, string(c.Class))
		}
		if c.GC {
			gc = append(gc, string(c.Class))
		}
	}
	if !slices.Equal(MemoryClasses, memory) || !slices.Equal(GCClasses, gc) {
		t.Errorf("memory %v, GC %v; folio run has %v, %v", MemoryClasses, GCClasses, memory, gc)
	}
}
