package document

import (
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A timed is a run with its figures over time.
type timed struct {
	name   string
	series *result.Series
	load   *result.LoadOverTime // nil for none
	wall   float64
}

// timedOf returns the first run of an arm that was kept over time, and counts where one of
// them does.
func timedOf(name string, samples []*result.Sample) (t timed, ok bool) {
	samples = result.Usable(samples)
	i := slices.IndexFunc(samples, func(s *result.Sample) bool { return s.Series != nil && len(s.Series.RSS.Seconds) > 1 })
	if i < 0 {
		return t, false
	}
	t = timed{name: name, series: samples[i].Series, wall: samples[i].Wall}
	if l := samples[i].Load; l != nil && l.OverTime != nil && l.OverTime.Start != nil {
		t.load = l.OverTime
	}
	return t, true
}

// A track is a figure of a run over time.
type track struct {
	name, kind string
	color      int
	dash, area bool
	step       bool
	of         func(s *result.Series) (x, y []float64)
	ofLoad     func(o *result.LoadOverTime) (x, y []float64) // instead of it
}

// points are those of a run.
func (t *track) points(r timed) (x, y []float64) {
	switch {
	case t.ofLoad == nil:
		return t.of(r.series)
	case r.load != nil:
		return t.ofLoad(r.load)
	}
	return nil, nil
}

// lanes are the figures of a timeline, those with one scale together.
var lanes = []struct {
	label, format string
	tracks        []track
}{
	{"memory", Bytes, []track{
		{name: "RSS", kind: "line", color: 1, area: true, of: func(s *result.Series) (x, y []float64) { return bytesOf(&s.RSS) }},
		{name: "on huge pages", kind: "line", color: 3, of: func(s *result.Series) (x, y []float64) { return bytesOf(&s.Huge) }},
		{name: "heap in use", kind: "line", color: 2, of: heapInUse},
		{name: "heap goal", kind: "line", color: 7, dash: true, step: true, of: func(s *result.Series) (x, y []float64) { return cyclesOf(s, s.GC.Goal) }},
		{name: "live heap", kind: "line", color: 4, dash: true, of: func(s *result.Series) (x, y []float64) { return cyclesOf(s, s.GC.Live) }},
	}},
	{"latency: the slowest request", Seconds, []track{
		{name: "latency", kind: "stick", color: 1, ofLoad: func(o *result.LoadOverTime) (x, y []float64) { return latencyOf(o, false) }},
		{name: "latency of slow requests", kind: "stick", color: 2, ofLoad: func(o *result.LoadOverTime) (x, y []float64) { return latencyOf(o, true) }},
	}},
	{"GC cycles: how long", Seconds, []track{
		{name: "GC cycle", kind: "stick", color: 5, of: func(s *result.Series) (x, y []float64) { return cyclesOf(s, s.GC.Clock) }},
	}},
	{"longest stop-the-world", Seconds, []track{
		{name: "pause", kind: "stick", color: 2, of: func(s *result.Series) (x, y []float64) { return cyclesOf(s, s.GC.Pause) }},
	}},
	{"GC assists: CPU time", Seconds, []track{
		{name: "assists", kind: "stick", color: 4, of: func(s *result.Series) (x, y []float64) { return cyclesOf(s, s.GC.Assist) }},
	}},
	{"page faults a second", Count, []track{
		{name: "page faults a second", kind: "line", color: 6, area: true, step: true, of: func(s *result.Series) (x, y []float64) { return ratesOf(s.Faults) }},
	}},
	{"throttled by the CPU quota: seconds a second", Count, []track{
		{name: "throttled", kind: "line", color: 3, area: true, step: true, of: func(s *result.Series) (x, y []float64) { return ratesOf(s.Throttled) }},
	}},
}

func bytesOf(t *result.Track) (x, y []float64) {
	for i := range min(len(t.Seconds), len(t.Bytes)) {
		x, y = append(x, t.Seconds[i]), append(y, float64(t.Bytes[i]))
	}
	return x, y
}

// cyclesOf returns a figure of the GC cycles, of those that have it.
func cyclesOf[V uint64 | float64](s *result.Series, of []V) (x, y []float64) {
	for i := range s.GC.Len() {
		if of[i] > 0 {
			x, y = append(x, s.GC.Seconds[i]), append(y, float64(of[i]))
		}
	}
	return x, y
}

// heapInUse is the heap where GC cycles tell it: when they start, and what is live when
// they have ended.
func heapInUse(s *result.Series) (x, y []float64) {
	last := 0.0
	for i := range s.GC.Len() {
		if s.GC.Start[i] == 0 || s.GC.Live[i] == 0 {
			continue // nobody saw that
		}
		end := s.GC.Seconds[i]
		begin := max(last, end-s.GC.Clock[i])
		x, y = append(x, begin, max(begin, end)), append(y, float64(s.GC.Start[i]), float64(s.GC.Live[i]))
		last = max(begin, end)
	}
	return x, y
}

func ratesOf(r *result.Rates) (x, y []float64) {
	if r == nil || !(r.BinSeconds > 0) {
		return nil, nil
	}
	for i, n := range r.Counts {
		x, y = append(x, float64(i)*r.BinSeconds), append(y, n/r.BinSeconds)
	}
	return append(x, float64(len(x))*r.BinSeconds), append(y, 0)
}

// latencyOf returns the slowest request of each window, of those with slow ones or of the
// others.
func latencyOf(o *result.LoadOverTime, slow bool) (x, y []float64) {
	for i, longest := range o.Max {
		if longest != nil && (o.Slow[i] > 0) == slow {
			x, y = append(x, *o.Start+float64(i)*o.Window), append(y, *longest)
		}
	}
	return x, y
}

// timeline draws runs over time: all figures of one, or those of several on one axis.
func timeline(runs []timed) *Block {
	b := &Block{Title: "Over time"}
	if len(runs) == 0 {
		b.Words = []string{"Not in this result: the run was too short to be looked at twice, or it was not kept over time."}
		return b
	}
	c := &Chart{Kind: Time, Title: "Memory, GC cycles and page faults over time", Partly: true,
		Caption: "Drag to look closer. Memory is of all processes together; the heap is known when GC cycles start and end.",
		X:       Axis{Label: "seconds since the start", Format: Seconds}}
	tb := &Table{Caption: "Over time", Head: cols("figure", "readings", "min", "max", "last")}
	for _, l := range lanes {
		lane := Lane{Label: l.label, Format: l.format}
		for _, t := range l.tracks {
			one := Lane{Label: t.name, Format: l.format}
			for i, r := range runs {
				x, y := t.points(r)
				if len(x) == 0 || !increasing(x) || len(runs) == 1 && slices.Max(y) <= 0 {
					continue
				}
				s := LaneSeries{Name: t.name, Kind: t.kind, Color: t.color, Dash: t.dash, Area: t.area, Step: t.step, X: rounded(x), Y: rounded(y)}
				row := t.name
				if len(runs) > 1 { // a color for each run
					s.Name, s.Color, s.Dash, s.Area = r.name, []int{2, 1, 3, 4, 5, 6}[i%6], i > 0, false
					row += ", " + r.name
				}
				one.Series = append(one.Series, s)
				c.End = max(c.End, x[len(x)-1], r.wall)
				tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(row), num(itoa(len(y)), float64(len(y))),
					laneValue(l.format, slices.Min(y)), laneValue(l.format, slices.Max(y)), laneValue(l.format, y[len(y)-1])}})
			}
			switch {
			case len(one.Series) == 0 || len(runs) > 1 && !slices.ContainsFunc(one.Series, func(s LaneSeries) bool { return slices.Max(s.Y) > 0 }):
			case len(runs) > 1: // lines of several runs and figures would be too many on one scale
				if len(l.tracks) == 1 {
					one.Label = l.label
				}
				c.Lanes = append(c.Lanes, one)
			default:
				lane.Series = append(lane.Series, one.Series...)
			}
		}
		if len(lane.Series) > 0 {
			c.Lanes = append(c.Lanes, lane)
		}
	}
	if len(c.Lanes) == 0 || !(c.End > 0) || math.IsInf(c.End, 0) {
		b.Words = []string{"Nothing was seen over time."}
		return b
	}
	for _, r := range runs {
		if n := r.series.GC.Stride; n > 1 {
			c.Caption += formatf(" Of %s, a mark stands for up to %d GC cycles: the longest, and the sum of their assists.", r.name, n)
		}
	}
	if i := slices.IndexFunc(runs, func(r timed) bool { return r.load != nil }); i >= 0 {
		c.Title = "Memory, latency, GC cycles and page faults over time"
		c.Caption += formatf(" A request is in the window of %s in which it was to start; slow are the slowest percent.", unit.Seconds(runs[i].load.Window))
	}
	if len(runs) > 1 {
		c.Caption += " One run of each."
	}
	b.Charts, b.Tables, b.Fold = []*Chart{c}, []*Table{tb}, true
	return b
}

func laneValue(format string, v float64) Cell {
	switch format {
	case Bytes:
		return num(unit.Bytes(v), v)
	case Seconds:
		return num(unit.Seconds(v), v)
	}
	return num(unit.Count(v), v)
}

// increasing says that times are in order, and are times: files may be anybody's.
func increasing(x []float64) bool {
	return slices.IsSorted(x) && x[0] >= 0 && !math.IsNaN(x[len(x)-1]) && !math.IsInf(x[len(x)-1], 0)
}

// rounded leaves out digits that no chart shows.
func rounded(v []float64) []float64 {
	out := make([]float64, len(v))
	for i, x := range v {
		if x != 0 && !math.IsNaN(x) && !math.IsInf(x, 0) {
			scale := math.Pow(10, 5-math.Floor(math.Log10(math.Abs(x))))
			if r := math.Round(x*scale) / scale; !math.IsNaN(r) && !math.IsInf(r, 0) {
				out[i] = r
			}
		}
	}
	return out
}
