package html

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/count"
	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/tune"
)

// formatf is fmt.Sprintf by a name that reads well in expressions.
func formatf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// A tuned is a search with what its page needs of each arm.
type tuned struct {
	file *report.File
	of   target
	arms []tunedArm // the default first
}

type tunedArm struct {
	*report.Arm
	metric stat.Summary // as measured
	memory stat.Summary
	ratio  stat.Summary // to the default, round by round
	level  float64      // metric, less what the rounds did to it; NaN: not known
	lo, hi *float64
	front  bool
}

func newTuned(f *report.File) *tuned {
	t := &tuned{file: f, of: targetOf(f)}
	var samples [][]*trial.Sample
	for i := range f.Arms {
		a := &f.Arms[i]
		samples = append(samples, a.Samples)
		t.arms = append(t.arms, tunedArm{
			Arm: a, metric: stat.Summarize(t.of.values(a.Samples)), memory: memory(a.Samples),
			ratio: t.of.paired(f.Arms[0].Samples, a.Samples),
		})
	}
	base := t.arms[0].metric.Median
	for i, level := range t.of.Evened(samples...) {
		a := &t.arms[i]
		a.level = level
		if a.ratio.HasInterval && i > 0 {
			lo, hi := min(base*a.ratio.Lo, a.level), max(base*a.ratio.Hi, a.level)
			a.lo, a.hi = &lo, &hi
		}
	}
	t.markFront()
	return t
}

// markFront marks the arms that no other beats in both metric and memory.
func (t *tuned) markFront() {
	var order []*tunedArm
	for i := range t.arms {
		if t.arms[i].placed() {
			order = append(order, &t.arms[i])
		}
	}
	cost := func(a *tunedArm) float64 {
		if t.of.spec.Higher {
			return 1 / a.level
		}
		return a.level
	}
	slices.SortStableFunc(order, func(a, b *tunedArm) int {
		return cmp.Or(cmp.Compare(a.memory.Median, b.memory.Median), cmp.Compare(cost(a), cost(b)))
	})
	best := math.Inf(1)
	for _, a := range order {
		if c := cost(a); c < best {
			best, a.front = c, true
		}
	}
}

// placed says that the arm has a place in the picture.
func (a *tunedArm) placed() bool {
	return a.Status != string(tune.Failed) && a.level > 0 && a.memory.Median > 0
}

var goals = map[string]string{
	tune.Fastest:  "the best",
	tune.Cheapest: "the least memory within 2% of the best",
	tune.Within:   "the best within --mem",
}

func tuneSection(f *report.File) *Section {
	t := newTuned(f)
	s := &Section{Kicker: "folio tune", Heading: trial.Setting{}.Line(f.Program.Command), Code: true, About: about(f)}
	n := 0
	for _, a := range f.Arms {
		n += len(a.Samples)
	}
	s.About = append(s.About, formatf("%s, %s in %.0f s", count.Of(len(f.Arms), "setting"), count.Of(n, "run"), f.ElapsedSeconds))
	s.Answers = t.answers()
	s.Notes = slices.Clone(f.Notes)
	if !f.Complete {
		s.Notes = append([]string{"the search was not completed: this is what was known when it ended"}, s.Notes...)
	}
	s.Blocks = append(s.Blocks, &Block{Title: formatf("%s against memory", t.of.label()), Charts: []*Chart{t.scatter()}, Tables: []*Table{t.table()}})
	if b := t.byGOGC(); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if b := t.where(); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	return s
}

// about says where a program was measured.
func about(f *report.File) []string {
	var out []string
	if v := f.Program.GoVersion; v != nil {
		out = append(out, *v)
	}
	if b := f.Program.Build; b != nil {
		out = append(out, "built from "+b.Package+" with "+join(b.Patches))
	}
	out = append(out, machine(f.Host)...)
	if f.Program.Input != "" {
		out = append(out, "input: "+f.Program.Input)
	}
	if f.Program.Load != "" {
		out = append(out, "under load: "+f.Program.Load)
	}
	return append(out, f.Created.UTC().Format("2 Jan 2006 15:04 UTC"))
}

func (t *tuned) arm(name string) *tunedArm {
	i := slices.IndexFunc(t.arms, func(a tunedArm) bool { return a.Name == name })
	if i < 0 {
		return &t.arms[0]
	}
	return &t.arms[i]
}

// answers says in sentences what the search recommends.
func (t *tuned) answers() []Answer {
	if len(t.file.Recommendations) == 0 {
		return []Answer{{Main: true, Text: "Nothing can be recommended: too little was measured."}}
	}
	var out []Answer
	for _, r := range t.file.Recommendations {
		if i := slices.IndexFunc(out, func(a Answer) bool { return a.Line == r.Line }); i >= 0 {
			out[i].Goal += "; also " + goals[r.Goal]
			continue
		}
		out = append(out, t.answer(r, len(out) == 0))
	}
	return out
}

func (t *tuned) answer(r report.Recommendation, main bool) Answer {
	a := Answer{Goal: goals[r.Goal], Line: r.Line, Main: main}
	arm := t.arm(r.Arm)
	if a.Goal == "" {
		a.Goal = r.Goal
	}
	a.Goal = upper(a.Goal)
	if arm == &t.arms[0] {
		a.Figure, a.Text = "default", "Keep the default."
		if r.Why != "" {
			a.Text = "Keep the default: " + r.Why + "."
		}
		a.Sure = formatf("%s %s%s, peak memory %s, %s", t.of.label(), t.of.text(arm.metric.Median), spread(arm.metric), report.Bytes(arm.memory.Median), count.Of(arm.metric.N, "run"))
		return a
	}
	a.Text = "Run it with " + r.Arm
	switch {
	case r.MetricRatio == nil:
	case r.Different:
		a.Figure = percentChange(*r.MetricRatio)
		a.Text += formatf(": %s is %s", t.of.label(), moreOrLess(*r.MetricRatio))
	default:
		a.Text += formatf(": %s is not measurably different", t.of.label())
	}
	if m := r.MemoryRatio; m != nil {
		a.Text += ", peak memory " + moreOrLess(*m)
	}
	a.Text += "."
	a.Sure = formatf("%s %s instead of %s, medians of %d and %s (p = %.2g)", t.of.label(), t.of.text(arm.metric.Median), t.of.text(t.arms[0].metric.Median), arm.metric.N, count.Of(t.arms[0].metric.N, "run"), r.P)
	if ratio := arm.ratio; ratio.HasInterval {
		a.Sure += formatf("; compared within rounds %s to %s (95%% interval)", percentChange(ratio.Lo), percentChange(ratio.Hi))
	} else {
		a.Sure += "; too few rounds for an interval"
	}
	for i, way := range r.Keep { // huge pages of a build with a patched runtime
		if i == 0 {
			way = upper(way) // a sentence; those after it begin with commands
		}
		a.Steps = append(a.Steps, Step{Do: way})
	}
	return a
}

// moreOrLess says in words what a ratio to the default is.
func moreOrLess(ratio float64) string {
	switch {
	case ratio >= 1.995:
		return formatf("%.1f times as much", ratio)
	case ratio > 1.005:
		return formatf("%.0f%% more", 100*(ratio-1))
	case ratio < 0.995:
		return formatf("%.0f%% less", 100*(1-ratio))
	}
	return "the same"
}

func spread(s stat.Summary) string {
	if text := report.Spread(s); text != "" {
		return " " + text
	}
	return ""
}

// tip lists what is known of an arm.
func (t *tuned) tip(a *tunedArm) [][2]string {
	out := [][2]string{{t.of.label(), t.of.text(a.metric.Median) + spread(a.metric)}}
	if a.Arm != t.arms[0].Arm {
		out = append(out, [2]string{"in the default's rounds", percentChange(a.ratio.Median)})
	}
	out = append(out, [2]string{"peak memory", report.Bytes(a.memory.Median) + spread(a.memory)})
	for _, f := range []struct {
		key, label string
		format     func(float64) string
	}{
		{"cpu_seconds", "processor time", report.Seconds}, {"minor_faults", "page faults", report.Count},
		{"gc_cycles", "collections", report.Count}, {"gc_cpu_fraction", "collector", report.Percent},
		{"gc_pause_max_seconds", "longest stop", report.Seconds}, {"memory_tax_fraction", "memory tax", report.Percent},
		{"huge_peak_bytes", "on huge pages", report.Bytes},
	} {
		if v := trial.FigureOf(f.key).Values(a.Samples); len(v) > 0 {
			out = append(out, [2]string{f.label, f.format(stat.Median(v))})
		}
	}
	return append(out, [2]string{"runs", itoa(a.metric.N)})
}

// named returns what an arm is recommended as, "" for nothing.
func (t *tuned) named(a *tunedArm) string {
	short := map[string]string{tune.Fastest: "best", tune.Cheapest: "least memory", tune.Within: "within --mem"}
	var out []string
	for _, r := range t.file.Recommendations {
		if r.Arm == a.Name {
			out = append(out, short[r.Goal])
		}
	}
	return strings.Join(out, ", ")
}

func (t *tuned) point(a *tunedArm, x float64, lo, hi *float64) Point {
	p := Point{X: x, XLo: lo, XHi: hi, Y: t.of.scale(a.level), Name: a.Name, Tip: t.tip(a), Copy: t.line(a)}
	if a.lo != nil {
		l, h := t.of.scale(*a.lo), t.of.scale(*a.hi)
		p.YLo, p.YHi = &l, &h
	}
	return p
}

// line is what is to be pasted into a shell for an arm.
func (t *tuned) line(a *tunedArm) string { return t.file.Program.Line(settingOf(a.Setting)) }

func settingOf(s report.Setting) trial.Setting { return s.Trial() }

func (t *tuned) scatter() *Chart {
	c := &Chart{
		Kind: XY, Title: formatf("%s against peak memory, one point for each setting", t.of.label()),
		Caption: "Better is " + map[bool]string{true: "up", false: "down"}[t.of.spec.Higher] + " and to the left. The line joins the settings that no other beats in both. Upright bars are 95% intervals of the difference to the default within rounds, level ones of memory; a point without bars has too few runs.",
		X:       Axis{Label: "peak memory of all processes", Scale: Log2, Format: Bytes}, Y: t.of.axis(),
		Hint: "Click a point, or press Enter on it, to copy the command line with its setting.",
	}
	front := Series{Name: "nothing is both better and smaller", Line: true, Bare: true, Dash: true, Mute: true}
	for shape, color := range []int{shapeGOGC: 1, shapeDefault: 2, shapeLimit: 3, shapeBoth: 4, shapeTHP: 5} {
		series := Series{Color: color, Shape: shape}
		for i := range t.arms {
			a := &t.arms[i]
			k, name := kindOf(a.Setting)
			if i == 0 {
				k, name = shapeDefault, "default"
			}
			if k != shape || !a.placed() {
				continue
			}
			series.Name = name
			var lo, hi *float64
			if a.memory.HasInterval {
				lo, hi = &a.memory.Lo, &a.memory.Hi
			}
			p := t.point(a, a.memory.Median, lo, hi)
			if n := t.named(a); n != "" {
				p.Text, p.Big = n, true
			} else if i == 0 {
				p.Text, p.Big = "default", true
			}
			series.P = append(series.P, p)
			if a.front {
				front.P = append(front.P, Point{X: p.X, Y: p.Y})
			}
		}
		if len(series.P) > 0 {
			c.Series = append(c.Series, series)
		}
	}
	slices.SortFunc(front.P, func(a, b Point) int { return cmp.Compare(a.X, b.X) })
	if len(front.P) > 1 {
		c.Series = append([]Series{front}, c.Series...)
	}
	return c
}

// byGOGC draws metric and memory against GOGC, for arms that set nothing else.
func (t *tuned) byGOGC() *Block {
	m := Series{Name: t.of.label(), Color: 1, Line: true}
	mem := Series{Name: "peak memory", Color: 3, Shape: 2, Line: true}
	for i := range t.arms {
		a := &t.arms[i]
		x, err := 100.0, error(nil)
		if g := a.Setting.GOGC; g != nil {
			x, err = strconv.ParseFloat(*g, 64)
		} else if i > 0 {
			continue
		}
		if err != nil || !a.placed() || a.Setting.MemLimit != nil || a.Setting.GOMAXPROCS != nil && i > 0 || settingOf(a.Setting).THP != trial.THPSystem {
			continue
		}
		p := t.point(a, x, nil, nil)
		m.P = append(m.P, p)
		p.Y, p.YLo, p.YHi = a.memory.Median, nil, nil
		if a.memory.HasInterval {
			p.YLo, p.YHi = &a.memory.Lo, &a.memory.Hi
		}
		mem.P = append(mem.P, p)
	}
	if len(m.P) < 3 {
		return nil
	}
	byX := func(a, b Point) int { return cmp.Compare(a.X, b.X) }
	slices.SortFunc(m.P, byX)
	slices.SortFunc(mem.P, byX)
	tb := &Table{Caption: "Settings of GOGC alone", Head: cols("GOGC", t.of.label(), "peak memory"), Sort: true}
	for i, p := range m.P {
		y := p.Y / t.of.scale(1)
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{num(formatf("%g", p.X), p.X), num(t.of.text(y), y), num(report.Bytes(mem.P[i].Y), mem.P[i].Y)}})
	}
	x := Axis{Label: "GOGC", Scale: Log, Format: Count}
	hint := "Click a point to copy the command line with its setting."
	return &Block{
		Title: "What GOGC does", Fold: true, Tables: []*Table{tb},
		Words: []string{"Only settings that change nothing else; the default is at 100 unless the environment sets another."},
		Charts: []*Chart{
			{Kind: XY, Title: t.of.label() + " against GOGC", X: x, Y: t.of.axis(), Series: []Series{m}, Height: 280, Hint: hint},
			{Kind: XY, Title: "Peak memory against GOGC", X: x, Y: Axis{Label: "peak memory", Scale: Log2, Format: Bytes}, Series: []Series{mem}, Height: 240, Hint: hint},
		},
	}
}

// table lists all arms, the default first, then the best first.
func (t *tuned) table() *Table {
	tb := &Table{
		Caption: "All settings. Evened: less what the rounds did, so that a slow minute of the machine counts against no setting; the picture shows that. Headings sort.",
		Sort:    true, Head: cols("setting", t.of.label()+", evened", t.of.label(), "interval", "vs default", "runs"),
	}
	more := []struct{ name, key, label string }{{metric.Wall, "wall_seconds", "wall"}, {metric.CPU, "cpu_seconds", "cpu"}, {"", "minor_faults", "faults"}, {"", "gc_cpu_fraction", "collector"}, {"", "memory_tax_fraction", "memory tax"}}
	more = slices.DeleteFunc(more, func(m struct{ name, key, label string }) bool { return m.name == t.of.spec.Name })
	tb.Head = append(tb.Head, Column{Label: "peak memory", Num: true})
	for _, m := range more {
		tb.Head = append(tb.Head, Column{Label: m.label, Num: true})
	}
	tb.Head = append(tb.Head, Column{Label: "status"})
	order := make([]*tunedArm, len(t.arms))
	for i := range t.arms {
		order[i] = &t.arms[i]
	}
	slices.SortStableFunc(order[1:], func(a, b *tunedArm) int {
		if an, bn := math.IsNaN(a.level), math.IsNaN(b.level); an || bn {
			return cmp.Compare(map[bool]int{true: 1}[an], map[bool]int{true: 1}[bn])
		}
		if t.of.spec.Higher {
			return cmp.Compare(b.level, a.level)
		}
		return cmp.Compare(a.level, b.level)
	})
	for i, a := range order {
		delta := plain("")
		if i > 0 {
			c := stat.Compare(t.of.values(t.arms[0].Samples), t.of.values(a.Samples))
			delta = num(c.Delta(), c.Ratio)
		}
		width, _ := a.metric.Spread()
		state := a.Reason
		if state == "" && a.Status != "racing" {
			state = a.Status
		}
		name := t.named(a)
		row := Row{Mark: name != "", Cells: []Cell{
			code(a.Name), num(t.of.text(a.level), a.level), num(t.of.text(a.metric.Median), a.metric.Median), num(strings.TrimSpace(spread(a.metric)), width), delta,
			num(itoa(a.metric.N), float64(a.metric.N)), num(report.Bytes(a.memory.Median), a.memory.Median),
		}}
		for _, m := range more {
			v := stat.Median(trial.FigureOf(m.key).Values(a.Samples))
			row.Cells = append(row.Cells, num(figureFormat(m.key)(v), v))
		}
		row.Cells = append(row.Cells, plain(cmp.Or(name, state)))
		tb.Rows = append(tb.Rows, row)
	}
	return tb
}
