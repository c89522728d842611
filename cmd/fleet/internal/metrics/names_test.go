package metrics

import (
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/charge"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// The parts of the contract are those of folio inspect --cgroup.
func TestChargedParts(t *testing.T) {
	var parts []string
	for _, s := range new(charge.Charge).Sums() {
		parts = append(parts, s.Name)
	}
	if !slices.Equal(ChargedParts, parts) {
		t.Errorf("%v; folio inspect --cgroup has %v", ChargedParts, parts)
	}
}

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
