package gctune

import (
	"testing"

	"github.com/foliomem/folio/internal/library/gccontrol"
	"github.com/foliomem/folio/internal/test/property"
)

func TestExcess(t *testing.T) {
	for _, c := range []struct {
		name string
		f    footprint
		want uint64
	}{
		// 10 MB of rests were in use with 400 MB of objects.
		{"full", footprint{objects: 400 * mb, unused: 10 * mb, goal: 400 * mb, full: 400 * mb}, 10 * mb},
		{"swept", footprint{objects: 100 * mb, unused: 250 * mb, free: 60 * mb, goal: 400 * mb, full: 400 * mb}, 10 * mb},
		// Most of the heap has died, and GOGC was small: the next GC cycle is to
		// come at 160 MB. It need not.
		{"shrunk", footprint{objects: 80 * mb, unused: 330 * mb, goal: 160 * mb, full: 400 * mb}, 10 * mb},
		{"all spans freed", footprint{objects: 80 * mb, unused: 2 * mb, free: 300 * mb, goal: 160 * mb, full: 160 * mb}, 2 * mb},
		// Full of small rests at every GC cycle: that is what the heap takes.
		{"fragmented", footprint{objects: 100 * mb, unused: 200 * mb, goal: 150 * mb, full: 150 * mb}, 150 * mb},
		{"growing", footprint{objects: 200 * mb, unused: 50 * mb, goal: 400 * mb, full: 240 * mb}, 4 * mb},
		{"nothing known", footprint{}, 0},
	} {
		if got := c.f.excess(); got != c.want {
			t.Errorf("%s: %d MB, want %d", c.name, got/mb, c.want/mb)
		}
	}
}

// TestFullHeap follows the counts of a program: how full its heap was is what was
// live before and what was allocated since, whatever happens between looks.
func TestFullHeap(t *testing.T) {
	property.Check(t, func(t *property.T) {
		m := &meter{}
		var s gccontrol.Sample
		m.fullest(&s)
		for range 20 {
			cycles := t.Uint("cycles", 0, 3)
			each := t.Uint("allocated", 1, gb)
			before, live := m.full, m.ended.Live
			s.Allocated += each * max(cycles, 1)
			s.Cycles += cycles
			if cycles > 0 {
				s.Live = t.Uint("live", 0, gb)
			}
			since := s.Allocated - m.ended.Allocated
			got := m.fullest(&s)
			switch {
			case cycles == 0 && got != before:
				t.Fatalf("%d without a GC cycle, was %d", got, before)
			case cycles > 0 && got != live+since/cycles:
				t.Fatalf("%d after %d GC cycles of %d live and %d allocated", got, cycles, live, since)
			}
		}
	})
}
