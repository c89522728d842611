// Package history keeps what a process had in memory over time: a bounded number of
// readings, however long it is watched, and by how much its memory grows.
package history

import (
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
)

// A Point is a reading. Counts are since the first one.
type Point struct {
	At           time.Duration // since the first one
	RSS          uint64
	Parts        [waterfall.Kinds]int64
	Cycles       *uint32 // GC cycles; nil if the runtime could not be read
	Minor, Major uint64  // page faults
	Used         *uint64 // by the cgroup with the limit, but for page cache that is taken back easily; nil for none
}

// Known reports whether the reading tells how much it has of a part: without the runtime the
// Go heap is one part, and with it it is divided.
func (p *Point) Known(k waterfall.Kind) bool {
	switch {
	case p.Parts[k] != 0:
		return true
	case p.Cycles == nil:
		return !k.OfRuntime()
	}
	return k != waterfall.Heap
}

// A History is the readings of a process. The zero value has none.
type History struct {
	Points []Point
	// Stride is how many readings a point stands for at most: the one of them with the
	// most RSS.
	Stride int

	begin   time.Time
	first   *uint32 // GC cycles at the first reading that had them
	pending int     // readings that the last point stands for
	most    int
}

// mostPoints bounds a history: a chart shows no more, and a result stays small.
const mostPoints = 600

// Add adds a reading of a process, with its page faults since the first one. A reading
// without a waterfall is left out.
func (h *History) Add(p *inspect.Process, minor, major uint64) {
	w := p.Waterfall
	if w == nil {
		return
	}
	if len(h.Points) == 0 {
		h.begin, h.Stride = w.At, 1
		if h.most == 0 {
			h.most = mostPoints
		}
	}
	point := Point{At: max(w.At.Sub(h.begin), 0), RSS: w.RSS, Minor: minor, Major: major}
	for _, part := range w.Parts {
		point.Parts[part.Kind] = part.Bytes
	}
	if gc := w.AllGC(); gc != nil {
		if h.first == nil {
			h.first = new(gc.Cycles)
		}
		point.Cycles = new(gc.Cycles - *h.first)
	}
	if p.Limit != nil {
		point.Used = new(p.Limit.InUse())
	}
	h.add(point)
}

func (h *History) add(p Point) {
	if h.pending > 0 && h.pending < h.Stride {
		h.pending++
		if last := &h.Points[len(h.Points)-1]; p.RSS >= last.RSS {
			*last = p
		}
		return
	}
	if len(h.Points) == h.most {
		n := h.most / 2
		for i := range n {
			h.Points[i] = h.Points[2*i]
			if h.Points[2*i+1].RSS >= h.Points[i].RSS {
				h.Points[i] = h.Points[2*i+1]
			}
		}
		h.Points = h.Points[:n]
		h.Stride *= 2
	}
	h.Points = append(h.Points, p)
	h.pending = 1
}

// Growth is by how much memory grows, in bytes per minute.
type Growth struct {
	Over time.Duration // what it was seen in
	RSS  stat.Trend
	// Parts are those that ever had anything; RSS is their sum. There is none while too
	// little was seen of them.
	Parts map[waterfall.Kind]stat.Trend
	// Used is of the cgroup with the limit; nil for none.
	Used *stat.Trend
}

const (
	// recent is the time that growth is of where that is not said.
	recent = 10 * time.Minute
	// fewest and shortest are what must have been seen for a growth to be known.
	fewest   = 6
	shortest = time.Second
	// densest bounds the readings that a growth is computed from.
	densest = 100
)

// Recent returns the growth of the last ten minutes, All that of the whole time: nil
// while too little was seen.
func (h *History) Recent() *Growth { return h.growth(recent) }
func (h *History) All() *Growth    { return h.growth(1<<63 - 1) }

func (h *History) growth(over time.Duration) *Growth {
	points := h.Points
	if len(points) == 0 {
		return nil
	}
	end := points[len(points)-1].At
	for len(points) > fewest && end-points[0].At > over {
		points = points[1:]
	}
	g := &Growth{Over: end - points[0].At, Parts: map[waterfall.Kind]stat.Trend{}}
	if len(points) < fewest || g.Over < shortest {
		return nil
	}
	if n := len(points); n > densest { // evenly spread, with the first and the last
		some := make([]Point, densest)
		for i := range some {
			some[i] = points[i*(n-1)/(densest-1)]
		}
		points = some
	}
	minutes, values := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		minutes[i] = p.At.Minutes()
	}
	trend := func(of func(p *Point) float64) stat.Trend {
		for i := range points {
			values[i] = of(&points[i])
		}
		t, _ := stat.TrendOf(minutes, values)
		return t
	}
	g.RSS = trend(func(p *Point) float64 { return float64(p.RSS) })
	used := !slices.ContainsFunc(points, func(p Point) bool { return p.Used == nil })
	if used {
		g.Used = new(trend(func(p *Point) float64 { return float64(*p.Used) }))
	}
	// A heap that is one part, for the runtime could not be read, does not compare with one
	// that is divided: parts grow by the readings that are as the last one.
	divided := points[len(points)-1].Cycles != nil
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Cycles != nil != divided })
	minutes, values = minutes[:0], values[:len(points)]
	for _, p := range points {
		minutes = append(minutes, p.At.Minutes())
	}
	if len(points) < fewest {
		return g
	}
	for k := range waterfall.Kinds {
		if slices.ContainsFunc(points, func(p Point) bool { return p.Parts[k] != 0 }) {
			g.Parts[k] = trend(func(p *Point) float64 { return float64(p.Parts[k]) })
		}
	}
	return g
}
