package document

import (
	"cmp"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// partLines is how many parts of RSS the picture has, those with the most.
const partLines = 5

// overTimeBlock draws the memory of a process over time, with its limits, where p knows them;
// nil where it was read once.
func overTimeBlock(o *result.OverTime, p *result.Process) *Block {
	if o == nil || len(o.Seconds) < 2 || !increasing(o.Seconds) {
		return nil
	}
	end := o.Seconds[len(o.Seconds)-1]
	c := &Chart{Kind: Time, Title: "Memory over time", Partly: true, End: end,
		Caption: "Drag to zoom. The largest parts of RSS; the table has all.",
		X:       Axis{Label: "seconds since the first reading", Format: Seconds}}
	x := rounded(o.Seconds)
	memory := Lane{Label: "memory", Format: Bytes, Series: []LaneSeries{
		{Name: "RSS", Kind: "line", Color: 1, Area: true, X: x, Y: rounded(floats(o.RSS))},
	}}
	parts := slices.Clone(o.Parts)
	slices.SortStableFunc(parts, func(a, b result.PartOverTime) int { return cmp.Compare(mostOf(b), mostOf(a)) })
	for i, part := range parts[:min(partLines, len(parts))] {
		if uint64(mostOf(part)) < slices.Max(o.RSS)/100 {
			break // it would be the axis
		}
		if y, at := known(part.Bytes, x); len(y) >= leastPoints {
			memory.Series = append(memory.Series, LaneSeries{Name: part.Title(), Kind: "line", Color: []int{2, 3, 4, 5, 6}[i], X: at, Y: rounded(y)})
		}
	}
	level := func(name string, bytes uint64, color int) {
		memory.Series = append(memory.Series, LaneSeries{Name: name, Kind: "line", Color: color, Dash: true, X: []float64{0, x[len(x)-1]},
			Y: rounded([]float64{float64(bytes), float64(bytes)})})
	}
	if p != nil && p.Limit != nil {
		level("limit of its cgroup", p.Limit.Bytes, 7)
		if used, at := known(o.Used, x); len(used) >= leastPoints {
			memory.Series = append(memory.Series, LaneSeries{Name: "used by its cgroup", Kind: "line", Color: 7, X: at, Y: rounded(used)})
		}
	}
	if p != nil && p.Waterfall != nil && p.Waterfall.GC != nil && p.Waterfall.GC.Limit != nil {
		level("GOMEMLIMIT", *p.Waterfall.GC.Limit, 2)
	}
	c.Lanes = []Lane{memory}
	if cycles, at := known(o.Cycles, o.Seconds); len(cycles) >= leastPoints {
		c.Lanes = append(c.Lanes, rateLane("GC cycles a second", LaneSeries{Name: "GC cycles", Color: 5, X: at, Y: cycles}))
	}
	if len(o.Minor) > 0 {
		c.Lanes = append(c.Lanes, rateLane("page faults a second", LaneSeries{Name: "minor page faults", Color: 6, X: o.Seconds, Y: floats(o.Minor)}))
	}
	if n := len(o.Major); n > 0 && o.Major[n-1] > 0 {
		c.Lanes = append(c.Lanes, rateLane("major page faults a second", LaneSeries{Name: "major page faults", Color: 2, X: o.Seconds, Y: floats(o.Major)}))
	}
	if o.Stride > 1 {
		c.Caption += formatf(" A point stands for up to %d readings, the one with the highest RSS.", o.Stride)
	}
	tb := &Table{Caption: "RSS by part, over time", Sort: true, Head: cols("part", "first", "min", "max", "last", "a minute", "95% interval")}
	tb.Head[6].Minor = true
	drop(tb.Head, "min", "max", "first")
	add := func(name string, bytes []*int64, g *result.Growth) {
		cells := []Cell{plain(name)}
		for _, n := range report.Extremes(bytes) {
			if n == nil {
				cells = append(cells, plain("-"))
			} else {
				cells = append(cells, num(report.SignedSize(*n), float64(*n)))
			}
		}
		cells = append(cells, plain("-"), plain("-"))
		if g != nil {
			cells[5] = num(report.GrowthText(g), g.PerMinute)
			if g.Lo != nil && g.Hi != nil && *g.Lo != *g.Hi {
				cells[6] = plain(formatf("%s to %s", report.Grown(*g.Lo), report.Grown(*g.Hi)))
			}
		}
		tb.Rows = append(tb.Rows, Row{Cells: cells})
	}
	for _, part := range o.Parts {
		add(part.Title(), part.Bytes, part.Growth)
	}
	rss := make([]*int64, len(o.RSS))
	for i, n := range o.RSS {
		rss[i] = new(int64(min(n, math.MaxInt64)))
	}
	add("RSS", rss, o.Growth)
	b := &Block{Key: p != nil, Title: "Over time", Tables: []*Table{tb}}
	if len(x) >= leastPoints {
		b.Charts = []*Chart{c}
	}
	if p == nil { // a leak is judged from GC cycle to GC cycle: slopes between readings would differ
		tb.Head = tb.Head[:5]
		for i := range tb.Rows {
			tb.Rows[i].Cells = tb.Rows[i].Cells[:5]
		}
		return b
	}
	words := report.OverTimeWords(p)
	if o.Growth != nil {
		words = words[len(words)-1:] // the answer has the others
	}
	for _, w := range words {
		b.Words = append(b.Words, upper(w)+".")
	}
	return b
}

// mostOf is the most that a part ever had.
func mostOf(p result.PartOverTime) int64 { return slices.Max(append(p.Known(), 0)) }

func floats(values []uint64) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}

// known leaves out the readings in which a figure was not known.
func known[V uint32 | uint64 | int64](values []*V, at []float64) (y, x []float64) {
	for i, v := range values {
		if v != nil {
			y, x = append(y, float64(*v)), append(x, at[i])
		}
	}
	return y, x
}

// leastBin is the least time in seconds that a rate is of: one event between two readings that
// are close together is no rate.
const leastBin = 1

// rateLane is a lane of a count by its rate between readings.
func rateLane(label string, s LaneSeries) Lane {
	out := s
	out.Kind, out.Area, out.Step, out.X, out.Y = "line", true, true, nil, nil
	from := 0
	for i := range s.X {
		if d := s.X[i] - s.X[from]; d >= leastBin || d > 0 && i == len(s.X)-1 {
			out.X, out.Y = append(out.X, s.X[from]), append(out.Y, max(0, s.Y[i]-s.Y[from])/d)
			from = i
		}
	}
	out.X, out.Y = append(out.X, s.X[len(s.X)-1]), append(out.Y, 0)
	out.X, out.Y = rounded(out.X), rounded(out.Y)
	return Lane{Label: label, Format: Count, Series: []LaneSeries{out}}
}

// shortWatch is the time in seconds within which only fast growth shows.
const shortWatch = 60

// growthAnswer is what a process that was read over time is answered with; nil for one that
// was read once.
func growthAnswer(p *result.Process) *Answer {
	o := p.OverTime
	if o == nil || o.Growth == nil || len(o.Seconds) == 0 {
		return nil
	}
	a := &Answer{Main: true, Figure: report.GrowthText(o.Growth), Sure: formatf("%s in %s.",
		unit.Plural(len(o.Seconds), "reading"), unit.ElapsedSeconds(o.Seconds[len(o.Seconds)-1]))}
	words := report.GrowthWords(p)
	a.Text = upper(words[0]) + "."
	if o.Growth.Steady() {
		if o.Seconds[len(o.Seconds)-1] < shortWatch {
			a.Sure += " Slow growth takes longer to detect: --duration 5m."
		}
	} else {
		a.Figure += " a minute"
		if p.GoVersion != nil && p.PID != 0 && o.Growth.PerMinute > 0 {
			a.Line = formatf("folio leaks %d # which line or goroutine", p.PID)
		}
	}
	for _, w := range words[1:] {
		a.Sure += " " + upper(w) + "."
	}
	return a
}
