package history

import (
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
)

const mib = 1 << 20

// reading is a process after so long, whose live heap grows by a MiB a second.
func reading(after time.Duration, cycles uint32) *inspect.Process {
	live := int64(10*mib) + int64(after)*mib/int64(time.Second)
	return &inspect.Process{
		Limit: &inspect.Limit{Bytes: 100 * mib, Used: uint64(live) + mib},
		Waterfall: &waterfall.Waterfall{
			At: time.Unix(100, 0).Add(after), RSS: uint64(live) + 5*mib, GC: &waterfall.GC{Cycles: cycles},
			Parts: []waterfall.Part{{Kind: waterfall.Live, Bytes: live}, {Kind: waterfall.Text, Bytes: 5 * mib}},
		},
	}
}

func TestHistory(t *testing.T) {
	h := &History{}
	if h.Recent() != nil {
		t.Error("growth of nothing")
	}
	for i := range 20 {
		h.Add(reading(time.Duration(i)*time.Second, 7+uint32(i/2)), uint64(10*i), 0)
		h.Add(&inspect.Process{}, 0, 0) // it could not be read
	}
	if n := len(h.Points); n != 20 || h.Stride != 1 {
		t.Fatalf("%d points, stride %d", n, h.Stride)
	}
	if p := h.Points[19]; p.At != 19*time.Second || *p.Cycles != 9 || p.Minor != 190 || p.RSS != 34*mib || *p.Used != 30*mib {
		t.Errorf("%+v", p)
	}
	g := h.Recent()
	if g == nil || g.Over != 19*time.Second || g.RSS.Slope != 60*mib || g.RSS.Steady() || g.Parts[waterfall.Live].Slope != 60*mib ||
		!g.Parts[waterfall.Text].Steady() || len(g.Parts) != 2 || g.Used == nil || g.Used.Slope != 60*mib {
		t.Errorf("%+v", g)
	}
	h = &History{}
	for i := range fewest {
		if h.Recent() != nil {
			t.Errorf("growth of %d readings", i)
		}
		h.Add(reading(time.Duration(i)*time.Second, 7), 0, 0)
	}
	if h.Recent() == nil {
		t.Error("no growth")
	}
}

// However long a process is watched, its history stays small, and has the peaks.
func TestBounded(t *testing.T) {
	h := &History{}
	const n = 10 * mostPoints
	for i := range n {
		p := reading(time.Duration(i)*time.Second, 0)
		if i == 1234 {
			p.Waterfall.RSS = 1 << 40
		}
		h.Add(p, 0, 0)
		if len(h.Points) > mostPoints {
			t.Fatalf("%d points", len(h.Points))
		}
	}
	peak := uint64(0)
	for i, p := range h.Points {
		peak = max(peak, p.RSS)
		if i > 0 && p.At <= h.Points[i-1].At {
			t.Fatalf("point %d is of %v, the one before of %v", i, p.At, h.Points[i-1].At)
		}
	}
	if peak != 1<<40 || h.Stride != 16 || len(h.Points) < mostPoints/2 {
		t.Errorf("peak %d, stride %d, %d points", peak, h.Stride, len(h.Points))
	}
	if g := h.Recent(); g == nil || g.Over > recent || g.RSS.Slope < 59*mib || g.RSS.Slope > 61*mib {
		t.Errorf("%+v", g)
	}
	if g := h.All(); g == nil || g.Over < (n-32)*time.Second {
		t.Errorf("%+v", g)
	}
}

// Where the runtime could not be read now and then, its parts are not 0 then, and the heap as
// a whole does not come and go.
func TestUnread(t *testing.T) {
	for _, last := range []bool{true, false} {
		h := &History{}
		for i := range 40 {
			p := reading(time.Duration(i)*time.Second, 7)
			if (i%3 == 0) == last {
				p.Waterfall.GC, p.Waterfall.Parts[0].Kind = nil, waterfall.Heap
			}
			h.Add(p, 0, 0)
		}
		for i, p := range h.Points {
			divided := p.Cycles != nil
			if p.Known(waterfall.Live) != divided || p.Known(waterfall.Heap) == divided || p.Known(waterfall.Stacks) != divided || !p.Known(waterfall.Shared) {
				t.Errorf("reading %d, divided %v, of %v", i, divided, p.Parts)
			}
		}
		want, other := waterfall.Live, waterfall.Heap
		if h.Points[39].Cycles == nil {
			want, other = other, want
		}
		g := h.All()
		if _, has := g.Parts[other]; has || g.Parts[want].Slope < 59*mib || g.Parts[want].Slope > 61*mib || g.RSS.Slope < 59*mib || *g.Used != g.RSS {
			t.Errorf("%v: %+v", last, g)
		}
	}
}
