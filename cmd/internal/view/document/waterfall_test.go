package document

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
)

// Of many size classes the first are listed, with the sum of the others.
func TestSizeClasses(t *testing.T) {
	var all []result.MemoryClass
	var free uint64
	for i := range 60 {
		c := result.MemoryClass{Size: uint64(16 * (60 - i)), Spans: 1, Bytes: 8192, Objects: 16, Resident: 8192, Unused: uint64(8176 - i)}
		all, free = append(all, c), free+c.Unused
	}
	top := classFold(all)[0].Tables[0].Rows
	if last := top[len(top)-1]; len(top) != topClasses+1 || last.Cells[0].Text != "other size classes: 52" || last.Cells[1].Text != "52" {
		t.Errorf("%+v", top)
	}
	sum := 0.0
	for _, r := range top {
		sum += *r.Cells[5].Sort
	}
	if sum != float64(free) {
		t.Errorf("%v free in the first and the others, want %d", sum, free)
	}
	if folds := classFold(all[:9]); len(folds[0].Tables[0].Rows) != 9 {
		t.Errorf("of nine: %+v", folds)
	}
	if classFold(nil) != nil {
		t.Error("something of nothing")
	}
}

// The rows that are shown add up to RSS, in full and not.
func TestWaterfallAddsUp(t *testing.T) {
	w := &result.Waterfall{RSS: 1000, Parts: []result.MemoryPart{{Kind: "go_live", Bytes: 600}, {Kind: "text", Bytes: 395},
		{Kind: "go_free", Bytes: 8}, {Kind: "uncharged", Bytes: -3}}}
	full, brief := 0.0, 0.0
	for _, r := range waterfallBlock(w, "").Tables[0].Rows {
		v := *r.Cells[1].Sort
		if !r.Rest && !r.Mark {
			full += v
		}
		if !r.Minor && !r.Mark {
			brief += v
		}
	}
	if full != 1000 || brief != 1000 {
		t.Errorf("%v in full, %v where small parts are left out", full, brief)
	}
}
