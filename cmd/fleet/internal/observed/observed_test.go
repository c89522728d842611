package observed

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/rules"
)

func TestHistory(t *testing.T) {
	h := New(time.Unix(0, 0), time.Minute, 4)
	put := func(source, name, class string, i int, v float64) {
		h.Put(map[string]string{"source": source, "class": class, "go_version": "go1.26.8"}, name, i, v)
	}
	put("cadvisor", rules.Pods, "", 0, 5)
	put("application", rules.Pods, "", 0, 4)
	put("application", rules.Pods, "", 0, 3) // the largest counts
	put("application", rules.Pods, "", 2, 6)
	put("application", rules.Pods, "", 4, 9) // beyond the end
	put("application", rules.Pods, "", -1, 9)
	put("application", rules.Pods, "", 1, math.NaN())
	s, source := h.Best(rules.Pods)
	if source != rules.Application || !slices.Equal(s.Known(), []float64{4, 6}) || s.Mean() != 5 || s.Last() != 6 || s.Quantile(1) != 6 || s.Quantile(0) != 4 {
		t.Errorf("%v of %s", s, source)
	}
	if c, _ := h.Cut(2).Best(rules.Pods); !slices.Equal(c.Known(), []float64{4}) {
		t.Errorf("cut: %v", c)
	}
	put("agent", rules.TaxCores, "gc_mark", 0, 1)
	put("agent", rules.TaxCores, "write_barrier", 0, 2)
	put("agent", rules.TaxCores, "page_faults", 0, 9)
	put("application", rules.TaxCores, "gc", 0, 7)
	if gc, source := h.GC(); source != rules.Agent || gc[0] != 3 || !math.IsNaN(gc[1]) {
		t.Errorf("GC %v of %s", gc, source)
	}
	put("agent", rules.GoVersions, "", 0, 1)
	if !h.Go["go1.26.8"] {
		t.Error("no version")
	}
	if none, _ := h.Best(rules.Limit); none != nil || !math.IsNaN(none.Mean()) || !math.IsNaN(none.Quantile(.5)) || !math.IsNaN(none.Last()) {
		t.Errorf("%v", none)
	}
}

func TestPeaks(t *testing.T) {
	nan := math.NaN()
	s := Series{9, 1, 2, 3, nan, nan, nan, 8, 4, nan, 5, 4}
	// Pieces from the end: 4 nan 5 4; nan nan nan 8 (too little); 9 1 2 3.
	if got := s.Peaks(4); !slices.Equal(got, []float64{9, 5}) {
		t.Errorf("%v", got)
	}
	if got := (Series{}).Peaks(4); got != nil {
		t.Errorf("%v", got)
	}
}

func TestOlder(t *testing.T) {
	for v, want := range map[string]bool{"go1.18.10": true, "go1.19": false, "go1.26.8": false, "devel +abc": false, "": false, "go1.": false, "go1.x": false, "go1.9999999999": false, "go1.9": true} {
		if Older(v, 19) != want {
			t.Errorf("%q: %v", v, !want)
		}
	}
}
