package gctune

import (
	"testing"

	"github.com/foliomem/folio/internal/library/gccontrol"
	"github.com/foliomem/folio/internal/system/procmem"
)

// BenchmarkLook is what the tuner does when it wakes: at most 50 times a second
// and only after GC cycles, so 1% of a millisecond is 0.05% of a processor.
func BenchmarkLook(b *testing.B) {
	t := &Tuner{c: gccontrol.NewController(gccontrol.Params{})}
	t.meter = newMeter(procmem.FS{}, newBudgeter(procmem.FS{}, &Options{}), nil)
	b.ReportAllocs()
	for b.Loop() {
		s := t.meter.sample(t.meter.start.Add(t.meter.last.Time), extra{})
		t.c.Next(s)
	}
}

// BenchmarkRefresh reads the files of the budget: once a second at most.
func BenchmarkRefresh(b *testing.B) {
	budget := newBudgeter(procmem.FS{}, &Options{})
	b.ReportAllocs()
	for b.Loop() {
		budget.refresh(budget.at, 0)
	}
}
