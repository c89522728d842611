package trial

import (
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// Of a cycle that was seen in detail both stops are known, and of one that was seen as it marked.
func TestStopsOf(t *testing.T) {
	for _, c := range []struct {
		name          string
		detail        *goruntime.GCCycle
		first, second time.Duration
		ok            bool
	}{
		{"not seen", nil, 0, 0, false},
		{"in detail", &goruntime.GCCycle{Start: 10, Mark: 13, MarkEnd: 20, End: 25}, 3, 5, true},
		{"as it marked", &goruntime.GCCycle{Start: 10, Mark: 13, End: 25}, 3, 6, true},
		{"as it began", &goruntime.GCCycle{Start: 10, End: 25}, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			first, second, ok := stopsOf(gccount.Cycle{Pause: goruntime.Pause{Length: 9}, Detail: c.detail})
			if first != c.first || second != c.second || ok != c.ok {
				t.Errorf("got %v, %v, %v, want %v, %v, %v", first, second, ok, c.first, c.second, c.ok)
			}
		})
	}
}

// The CPU time of a GC cycle is known where it ended alone between two readings. Of several it is
// the sum that was read, and no share of it stands for one.
func TestCPUTimeOfCyclesReadAlone(t *testing.T) {
	cpu := goruntime.GCCPU{Assist: 6 * time.Millisecond, Dedicated: 4 * time.Millisecond, Pause: 2 * time.Millisecond}
	var all moments
	for _, n := range []int{1, 3, 1} {
		for _, m := range momentsOf(gccount.Step{Cycles: make([]gccount.Cycle, n), Ended: cpu}) {
			all.add(m)
		}
	}
	got := all.columns()
	for i, want := range []bool{true, false, false, false, true} {
		a, b := got.Assist[i], got.Background[i]
		if (a != nil) != want || (b != nil) != want || want && (*a != 0.006 || *b != 0.006) {
			t.Errorf("cycle %d: assists %v, background %v", i+1, a, b)
		}
	}
	for _, m := range momentsOf(gccount.Step{Cycles: make([]gccount.Cycle, 1), Lost: 1, Ended: cpu}) {
		if m.alone {
			t.Error("with one that was lost, the CPU time is of both")
		}
	}
	if a, b := momentsOf(gccount.Step{Cycles: make([]gccount.Cycle, 2), Ended: cpu}), all.all[0]; b.with(a[0]).alone || !b.with(all.all[4]).alone {
		t.Error("put together, they are known where all are")
	}
}
