package profile

import (
	"math"
	"slices"
	"testing"
)

// Notes are of all samples together, not of each run: three runs of 94, 98 and 101 samples
// are not few, and what is lost or has no name is said once, of all.
func TestMeanNotes(t *testing.T) {
	run := func(samples, lost, unnamed uint64) *Result {
		r := &Result{Samples: samples, Classes: []ClassShare{{Program, 1, 1}}}
		r.Note("no cycle counter")
		if lost > 0 {
			r.remark(remark{ofNumber, lost, "lost"})
		}
		r.remark(remark{ofShare, unnamed, "are in libx"})
		return r
	}
	for _, c := range []struct {
		runs []*Result
		want []string
	}{
		{[]*Result{run(94, 1, 10), run(98, 0, 20), run(108, 3, 30)}, []string{"no cycle counter", "4 samples lost", "20.0% of the samples are in libx"}},
		{[]*Result{run(30, 0, 0), run(34, 0, 0)}, []string{"no cycle counter", "only 64 samples: shares are rough; run the program for longer"}},
		{[]*Result{run(3, 0, 0), run(5, 0, 0)}, []string{"no cycle counter"}}, // too few for shares, which are not shown,
	} {
		got := Mean(c.runs).Notes
		if !slices.Equal(got, c.want) {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
	if got := run(30, 0, 0).Notes; len(got) != 2 || got[1] != "only 30 samples: shares are rough; run the program for longer" {
		t.Errorf("one run: %q", got)
	}
}

func TestMean(t *testing.T) {
	one := &Result{
		Samples: 100, Lost: 1, Kernel: true, Hardware: true, Faults: 10,
		Classes: []ClassShare{{GCMark, 1, 0.25}, {Program, 3, 0.75}},
		Sites: []Site{{Func: "a", File: "f", Line: 1, Seconds: 1, Fraction: 0.25,
			Classes: map[Class]float64{GCAssist: 0.5, Allocation: 0.5}}},
		FaultSites:   []Site{{Func: "a", File: "f", Line: 1, Faults: 10, Fraction: 1, Classes: map[Class]float64{Zeroing: 1}}},
		FaultClasses: []FaultShare{{Zeroing, 10, 1}},
		Notes:        []string{"n"},
	}
	two := &Result{
		Samples: 300, Kernel: false, Hardware: true, Faults: 30,
		Classes:      []ClassShare{{GCMark, 3, 0.5}, {Program, 3, 0.5}},
		Sites:        []Site{{Func: "b", File: "f", Line: 2, Seconds: 2, Fraction: 0.5, Classes: map[Class]float64{Allocation: 1}}},
		FaultSites:   []Site{{Func: "a", File: "f", Line: 1, Faults: 30, Fraction: 1, Classes: map[Class]float64{Zeroing: 1}}},
		FaultClasses: []FaultShare{{Zeroing, 30, 1}},
		Notes:        []string{"n", "m"},
	}
	if Mean(nil) != nil || Mean([]*Result{one}) != one {
		t.Fatal("the mean of none is nil, of one it is that one")
	}
	m := Mean([]*Result{one, two})
	if m.Samples != 400 || m.Lost != 1 || m.Kernel || !m.Hardware || m.Faults != 20 || len(m.Notes) != 2 {
		t.Errorf("got %+v", m)
	}
	if got := m.Share(GCMark); got.Seconds != 2 || math.Abs(got.Fraction-0.4) > 1e-9 {
		t.Errorf("marking: got %+v, want 2 s of 5", got)
	}
	if math.Abs(*m.MemoryTaxFraction-0.4) > 1e-9 {
		t.Errorf("tax: got %v", *m.MemoryTaxFraction)
	}
	if len(m.Sites) != 2 || m.Sites[0].Func != "b" || m.Sites[0].Seconds != 1 || math.Abs(m.Sites[0].Fraction-0.2) > 1e-9 {
		t.Errorf("sites: got %+v", m.Sites)
	}
	if s := m.Sites[1]; s.Seconds != 0.5 || s.Classes[GCAssist] != 0.5 {
		t.Errorf("second site: got %+v", s)
	}
	if len(m.FaultSites) != 1 || m.FaultSites[0].Faults != 20 {
		t.Errorf("fault sites: got %+v", m.FaultSites)
	}
}
