package trial

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// The peaks that are kept are the largest of all, and the looks that saw the peak are
// counted, up to a bound.
func TestPeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOf(rapid.Uint64Range(0, 1000)).Draw(t, "looks")
		atLeast := rapid.Uint64Range(0, 1200).Draw(t, "at least")
		var p peaks
		most := atLeast
		for _, v := range all {
			p.add(v)
			most = max(most, v)
		}
		near := 0
		for _, v := range all {
			if v >= most-most/20 {
				near++
			}
		}
		if bytes, looks := p.most(atLeast); bytes != most || looks != min(near, keptLooks) || p.looks != len(all) {
			t.Fatalf("%v: %d in %d looks of %d; want %d in %d", all, bytes, looks, p.looks, most, near)
		}
		if len(p.tops) != min(len(all), keptLooks) || !slices.IsSortedFunc(p.tops, func(a, b uint64) int { return int(b) - int(a) }) {
			t.Fatalf("kept %v of %v", p.tops, all)
		}
	})
}

func bytesOf(n uint64) *uint64 { return &n }

// Memory is compared by the peak of the tree only where that is not luck of sampling, in
// all samples of a search: else by the exact peak of the largest process.
func TestMemoryOfSamples(t *testing.T) {
	exact := func() *Sample {
		return &Sample{PeakRSS: bytesOf(100), PeakRSSSource: Kernel, PeakTreeRSS: bytesOf(100), PeakTreeRSSSource: Kernel}
	}
	seen := func(tree uint64, looks int) *Sample {
		return &Sample{PeakRSS: bytesOf(100), PeakRSSSource: Kernel, PeakTreeRSS: bytesOf(tree),
			PeakTreeRSSSource: Sampled, PeakTreeRSSLooks: looks}
	}
	unknown := &Sample{PeakRSS: bytesOf(100), PeakRSSSource: Kernel}
	for name, c := range map[string]struct {
		samples []*Sample
		want    float64 // of the first
	}{
		"alone, one process":           {[]*Sample{exact()}, 100},
		"alone, seen often":            {[]*Sample{seen(300, 3)}, 300},
		"alone, seen once":             {[]*Sample{seen(300, 1)}, 100},
		"all seen often":               {[]*Sample{seen(300, 10), seen(200, 3)}, 300},
		"another seen once":            {[]*Sample{seen(300, 10), seen(170, 1)}, 100},
		"another not known":            {[]*Sample{seen(300, 10), unknown}, 100},
		"a failed one does not matter": {[]*Sample{seen(300, 10), {Failure: "exit code 1"}}, 300},
	} {
		if len(c.samples) > 1 {
			Together(c.samples...)
		}
		got, ok := c.samples[0].Memory()
		if !ok || got != c.want || c.samples[0].MemoryOfTree() != (c.want != 100 || name == "alone, one process") {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		for _, s := range c.samples[1:] {
			if m, ok := s.Memory(); s.OK() && (!ok || c.want == 100 && m != 100) {
				t.Errorf("%s: another sample has %v", name, m)
			}
		}
	}
	// A bound must hold by all that is known.
	if m, ok := seen(300, 1).MostMemory(); !ok || m != 300 {
		t.Errorf("at most %v", m)
	}
	if m, ok := unknown.MostMemory(); !ok || m != 100 {
		t.Errorf("at most %v", m)
	}
	if _, ok := (&Sample{}).Memory(); ok {
		t.Error("memory is known of nothing")
	}
	// A figure says whether it was sampled.
	if !AnySampled("peak_tree_rss_bytes", []*Sample{exact(), seen(1, 1)}) || AnySampled("peak_rss_bytes", []*Sample{exact(), seen(1, 1)}) {
		t.Error("which figures are sampled?")
	}
}
