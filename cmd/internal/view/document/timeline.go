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
	of         func(s *result.Series) points
	ofLoad     func(o *result.LoadOverTime) points // instead of it
}

// leastPoints is how many readings a line is drawn through at least: fewer say nothing of what
// was between them.
const leastPoints = 3

// Points are a figure over time. No line leads to those whose indices are in gaps.
type points struct {
	x, y []float64
	gaps []int
	// read is how many readings they are of, of so many that there could be; 0, 0 for one each.
	read, all int
}

func (p *points) add(x, y float64) { p.x, p.y = append(p.x, x), append(p.y, y) }

// skip says that something was not read: it makes a gap.
func (p *points) skip() {
	if n := len(p.x); n > 0 && (len(p.gaps) == 0 || p.gaps[len(p.gaps)-1] != n) {
		p.gaps = append(p.gaps, n)
	}
}

// readings is how many readings the points are of.
func (p *points) readings() int {
	if p.all > 0 {
		return p.read
	}
	return len(p.x)
}

// points are those of a run.
func (t *track) points(r timed) points {
	switch {
	case t.ofLoad == nil:
		return t.of(r.series)
	case r.load != nil:
		return t.ofLoad(r.load)
	}
	return points{}
}

// lanes are the figures of a timeline, those with one scale together.
var lanes = []struct {
	label, format string
	tracks        []track
}{
	{"memory", Bytes, []track{
		{name: "RSS", kind: "line", color: 1, area: true, of: func(s *result.Series) points { return bytesOf(&s.RSS) }},
		{name: "on huge pages", kind: "line", color: 3, of: func(s *result.Series) points { return bytesOf(&s.Huge) }},
		{name: "heap in use", kind: "line", color: 2, of: heapInUse},
		{name: "heap goal", kind: "line", color: 7, dash: true, step: true, of: func(s *result.Series) points { return cyclesOf(s, s.GC.Goal) }},
		{name: "live heap", kind: "line", color: 4, dash: true, of: func(s *result.Series) points { return cyclesOf(s, s.GC.Live) }},
	}},
	{"latency: the slowest request", Seconds, []track{
		{name: "latency", kind: "stick", color: 1, ofLoad: func(o *result.LoadOverTime) points { return latencyOf(o, false) }},
		{name: "latency of slow requests", kind: "stick", color: 2, ofLoad: func(o *result.LoadOverTime) points { return latencyOf(o, true) }},
	}},
	{"GC cycles: how long", Seconds, []track{
		{name: "GC cycle", kind: "stick", color: 5, of: func(s *result.Series) points { return cyclesOf(s, s.GC.Clock) }},
	}},
	{"longest stop-the-world", Seconds, []track{
		{name: "stop-the-world", kind: "stick", color: 2, of: func(s *result.Series) points { return cyclesOf(s, s.GC.Pause) }},
	}},
	{"GC assists: CPU time", Seconds, []track{
		{name: "assists", kind: "stick", color: 4, of: func(s *result.Series) points { return cpuOf(s, s.GC.Assist) }},
	}},
	{"page faults a second", Count, []track{
		{name: "page faults a second", kind: "line", color: 6, area: true, step: true, of: func(s *result.Series) points { return ratesOf(s.Faults) }},
	}},
	{"throttled by the CPU quota: seconds a second", Count, []track{
		{name: "throttled", kind: "line", color: 3, area: true, step: true, of: func(s *result.Series) points { return ratesOf(s.Throttled) }},
	}},
}

func bytesOf(t *result.Track) (p points) {
	for i := range min(len(t.Seconds), len(t.Bytes)) {
		p.add(t.Seconds[i], float64(t.Bytes[i]))
	}
	return p
}

// cyclesOf returns a figure of the GC cycles, of those that have it.
func cyclesOf[V uint64 | float64](s *result.Series, of []V) points {
	p := points{all: s.GC.Len()}
	for i := range p.all {
		if of[i] > 0 {
			p.add(s.GC.Seconds[i], float64(of[i]))
		} else {
			p.skip()
		}
	}
	p.read = len(p.x)
	if p.read == 0 && p.all > 0 && slices.Max(s.GC.Clock) > 0 {
		p.all = 0 // cycles were seen, and have none: no goal with GOGC=off
	}
	return p
}

// cpuOf is CPU time of the GC cycles, of those of which it was read.
func cpuOf(s *result.Series, of []*float64) points {
	p := points{all: s.GC.Len()}
	for i := range p.all {
		if of[i] != nil {
			p.add(s.GC.Seconds[i], *of[i])
		}
	}
	p.read = len(p.x)
	return p
}

// heapInUse is the heap where GC cycles tell it: when they start, and what is live when
// they have ended.
func heapInUse(s *result.Series) points {
	p, last := points{all: 2 * s.GC.Len()}, 0.0
	for i := range s.GC.Len() {
		if s.GC.Start[i] == 0 || s.GC.Live[i] == 0 {
			p.skip()
			continue
		}
		end := s.GC.Seconds[i]
		begin := max(last, end-s.GC.Clock[i])
		p.add(begin, float64(s.GC.Start[i]))
		p.add(max(begin, end), float64(s.GC.Live[i]))
		last = max(begin, end)
		p.read += 2
	}
	return p
}

func ratesOf(r *result.Rates) (p points) {
	if r == nil || !(r.BinSeconds > 0) {
		return p
	}
	for i, n := range r.Counts {
		p.add(float64(i)*r.BinSeconds, n/r.BinSeconds)
	}
	p.add(float64(len(p.x))*r.BinSeconds, 0)
	return p
}

// latencyOf returns the slowest request of each window, of those with slow ones or of the
// others.
func latencyOf(o *result.LoadOverTime, slow bool) (p points) {
	for i, longest := range o.Max {
		if longest != nil && (o.Slow[i] > 0) == slow {
			p.add(*o.Start+float64(i)*o.Window, *longest)
		}
	}
	return p
}

// timeline draws runs over time: all figures of one, or those of several on one axis.
func timeline(runs []timed) *Block {
	b := &Block{Title: "Over time"}
	if len(runs) == 0 {
		b.Words = []string{"Not recorded, or the run was too short for two readings."}
		return b
	}
	c := &Chart{Kind: Time, Title: "Memory, GC cycles and page faults over time", Partly: true,
		Caption: "Drag to zoom. Memory is of all processes together; the heap is known at the start and end of GC cycles.",
		X:       Axis{Label: "seconds since the start", Format: Seconds}}
	tb := &Table{Caption: "Over time", Head: cols("figure", "readings", "min", "max", "last")}
	var missing, partly []string
	for _, l := range lanes {
		lane := Lane{Label: l.label, Format: l.format}
		for _, t := range l.tracks {
			one := Lane{Label: t.name, Format: l.format}
			for i, r := range runs {
				p := t.points(r)
				x, y := p.x, p.y
				row := t.name
				if len(runs) > 1 {
					row += ", " + r.name
				}
				if len(x) == 0 && p.read < p.all {
					missing = append(missing, row+" (not read)")
				}
				if len(x) == 0 || !increasing(x) || len(runs) == 1 && slices.Max(y) <= 0 {
					continue
				}
				n := p.readings()
				tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(row), num(itoa(n), float64(n)),
					laneValue(l.format, slices.Min(y)), laneValue(l.format, slices.Max(y)), laneValue(l.format, y[len(y)-1])}})
				// A stick is a moment of its own, and says nothing of others.
				if n < leastPoints && (t.kind == "line" || n < p.all) {
					missing = append(missing, formatf("%s (%s)", row, unit.Plural(n, "reading")))
					continue
				}
				if n < p.all {
					partly = append(partly, formatf("%s %d of %d", row, n, p.all))
				}
				s := LaneSeries{Name: t.name, Kind: t.kind, Color: t.color, Dash: t.dash, Area: t.area, Step: t.step, X: rounded(x), Y: rounded(y), Gaps: p.gaps}
				if len(runs) > 1 { // a color for each run
					s.Name, s.Color, s.Dash, s.Area = r.name, []int{2, 1, 3, 4, 5, 6}[i%6], i > 0, false
				}
				if t.kind != "line" {
					s.Gaps = nil
				}
				one.Series = append(one.Series, s)
				c.End = max(c.End, x[len(x)-1], r.wall)
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
		b.Words = []string{"Nothing was read over time."}
		if len(tb.Rows) > 0 {
			b.Words, b.Tables = []string{"No chart: too few readings."}, []*Table{tb}
		}
		return b
	}
	if len(missing) > 0 {
		b.Words = append(b.Words, formatf("Too few readings: %s.", join(missing)))
	}
	if len(partly) > 0 {
		c.Caption += formatf(" If several GC cycles end between two readings, only the last is fully known. Known: %s.", join(partly))
	}
	for _, r := range runs {
		if n := r.series.GC.Stride; n > 1 {
			c.Caption += formatf(" Of %s, a mark stands for up to %d GC cycles: the longest, and the sum of their assists.", r.name, n)
		}
	}
	if i := slices.IndexFunc(runs, func(r timed) bool { return r.load != nil }); i >= 0 {
		c.Title = "Memory, latency, GC cycles and page faults over time"
		c.Caption += formatf(" A request is in the window of %s in which it was to start; slow: the slowest 1 in 100.", unit.Seconds(runs[i].load.Window))
	}
	if len(runs) > 1 {
		c.Caption += " One run of each: for medians see the tables."
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
