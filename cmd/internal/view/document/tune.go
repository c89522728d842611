package document

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// formatf is fmt.Sprintf by a name that reads well in expressions.
func formatf(format string, args ...any) string { return fmt.Sprintf(format, args...) }

// A tuned is a search with what its page needs of each arm.
type tuned struct {
	file *result.File
	of   target
	arms []tunedArm // the default first
}

type tunedArm struct {
	*result.Arm
	memory result.Interval
	x, y   float64 // its place in a picture: memory and metric
	placed bool    // it has one
	lo, hi *float64
}

func newTuned(f *result.File) *tuned {
	t := &tuned{file: f, of: targetOf(f)}
	for i := range f.Arms {
		a := tunedArm{Arm: &f.Arms[i], memory: f.Arms[i].PeakMemory()}
		a.x, a.y, a.placed = report.Place(a.Arm)
		if base := f.Arms[0].Final; a.Final != nil && base != nil && a.Final.Ratio != nil && a.Final.Ratio.Lo != nil && a.Final.Ratio.Hi != nil {
			lo, hi := base.Adjusted**a.Final.Ratio.Lo, base.Adjusted**a.Final.Ratio.Hi
			a.lo, a.hi = &lo, &hi
		}
		t.arms = append(t.arms, a)
	}
	return t
}

func tuneSection(f *result.File) *Section {
	t := newTuned(f)
	s := &Section{Kicker: "folio tune", Heading: result.ShellLine(f.Program.Command), Code: true, About: about(f)}
	n := 0
	for _, a := range f.Arms {
		n += len(a.Samples)
	}
	s.About = append(s.About, formatf("%s, %s in %s", unit.Plural(len(f.Arms), "setting"), unit.Plural(n, t.noun()),
		unit.ElapsedSeconds(f.ElapsedSeconds)))
	if f.Seed != nil {
		s.About = append(s.About, formatf("seed %d", *f.Seed))
	}
	if ended := report.Ended(f); ended != "" {
		s.About = append(s.About, ended)
	}
	s.Answers = t.answers()
	s.Notes = slices.Clone(f.Notes)
	if !f.Complete {
		s.Notes = append([]string{"the search was not completed: this is what was known when it ended"}, s.Notes...)
	}
	if b := t.steps(); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	b := &Block{Title: "What was measured", Tables: []*Table{t.table()}, Key: f.Answer == nil || f.Answer.State != result.AnswerNoEffect}
	if slices.ContainsFunc(t.figures(), func(f figure.Figure) bool { return f.Key == byRuntime }) {
		b.Words = []string{figure.ByKey(byRuntime).Short + ": CPU time by the runtime's clock, which includes GC workers waiting for a CPU, and leaves out sweeping and write barriers."}
	}
	if c := t.scatter(); len(c.Series) > 0 {
		b.Title, b.Charts = formatf("%s against memory", t.of.label()), []*Chart{c}
	}
	s.Blocks = append(s.Blocks, b)
	if f.Live != nil {
		s.Blocks = append(s.Blocks, t.live()...)
	}
	if b := loadBlock(report.LoadedArms(f, false)); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if b := delaysBlock(answered(f)...); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if tb := t.leftEarly(); tb != nil {
		s.Blocks = append(s.Blocks, &Block{Title: unit.Plural(len(tb.Rows), "setting") + " not in the final",
			Tables: []*Table{tb}, Fold: true})
	}
	if b := t.everyRun(); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if b := t.benchmarks(); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if b := t.byGOGC(); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if b := t.where(); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if len(t.arms) > 0 {
		s.Blocks = append(s.Blocks, t.inDetail()...)
	}
	return s
}

// about says where a program was measured.
func about(f *result.File) []string {
	var out []string
	if v := f.Program.GoVersion; v != nil {
		out = append(out, *v)
	}
	if b := f.Program.Build; b != nil {
		out = append(out, "built from "+b.Package+" with "+join(b.Patches))
	}
	out = append(out, limits(f.Program.Limits)...)
	if f.Program.Input != "" {
		out = append(out, "input: "+f.Program.Input)
	}
	if f.Program.Load != "" {
		out = append(out, "under load: "+f.Program.Load)
	}
	if f.Program.Requests != nil {
		out = append(out, "under load: "+report.Requests(f.Program.Requests))
	}
	if l := f.Live; l != nil {
		out = append(out, formatf("process %d as it ran, in blocks of %s", l.PID, unit.SpanSeconds(l.BlockSeconds)))
		if l.Requests != "" {
			out = append(out, "requests counted by "+l.Requests)
		}
	}
	return out
}

// answered returns the default and what is recommended.
func answered(f *result.File) (out []*result.Arm) {
	for i := range f.Arms {
		a := &f.Arms[i]
		if i == 0 || slices.ContainsFunc(f.Recommendations, func(r result.Recommendation) bool { return r.Arm == a.Name }) {
			out = append(out, a)
		}
	}
	return out
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
	said, sure := report.Answers(t.file)
	ways := "" // those that were said
	var out []Answer
	for i, s := range said {
		a := Answer{Main: i == 0, Good: s.Figure != "", Text: s.Set, Figure: strings.Replace(s.Figure, "-", "−", 1), Sure: s.Gain,
			Line: s.Line, Detail: strings.Join(append(slices.Clone(s.Notes), s.More...), " "), Brief: strings.Join(s.Notes, " ")}
		if s.Cost != "" {
			a.Sure += "; " + s.Cost
		}
		if i == 0 {
			a.Detail, a.Brief = strings.TrimSpace(a.Detail+" "+sure), strings.TrimSpace(a.Brief+" "+sure)
			if s.Arm != nil && !strings.HasPrefix(s.Set, report.NothingToSearch) && s.Figure == "" && s.Arm.Name == t.file.Arms[0].Name {
				a.Figure = "default"
			}
		} else {
			a.Goal, a.Text = report.Heading(s.Goal), "Set "+s.Set+"."
		}
		if len(s.Permanent) > 0 && strings.HasSuffix(s.Permanent[0], " these:") && !strings.HasSuffix(s.Permanent[0], "all of these:") {
			// They differ little from one setting to another.
			if head := strings.TrimSuffix(s.Permanent[0], "these:"); ways != "" {
				s.Permanent = []string{head + "the above, with " + s.Set}
			} else {
				ways = head
			}
		}
		for j, way := range s.Permanent { // huge pages of a build with a patched runtime
			if j == 0 {
				way = upper(way) // a sentence; those after it begin with commands
			}
			a.Steps = append(a.Steps, Step{Do: way})
		}
		a.Later = t.file.Program.Build == nil && t.file.Live == nil // the line does it, too
		out = append(out, a)
	}
	for _, n := range t.file.Advice {
		out = append(out, nextStep(n))
	}
	return out
}

// tip lists what is known of an arm.
func (t *tuned) tip(a *tunedArm) [][2]string {
	var out [][2]string
	add := func(label, text string) { out = append(out, [2]string{label, text}) }
	switch f := a.Final; {
	case f != nil && f.Ratio != nil:
		add(t.of.label()+", adjusted", t.of.text(f.Adjusted))
		add("vs default", report.Change(f.Ratio))
	case f != nil:
		add(t.of.label(), t.of.text(f.Adjusted))
	default:
		add(t.of.label()+", about", t.of.text(a.y))
		add("dropped early", strings.TrimPrefix(report.LeftEarly(a.Arm), "dropped early: "))
	}
	add("peak RSS", unit.Bytes(a.x))
	for _, key := range []string{"cpu_seconds", "minor_faults", "gc_cycles", "gc_cpu_fraction", "gc_pause_max_seconds",
		"memory_tax_fraction", "huge_peak_bytes"} {
		if v, ok := a.Summary.Center(key); ok {
			add(figure.ByKey(key).Short, figure.ByKey(key).Format(v))
		}
	}
	add(t.noun()+"s", itoa(t.runs(a)))
	return out
}

// noun is what a sample is called.
func (t *tuned) noun() string {
	if t.file.Live != nil {
		return "block"
	}
	return "run"
}

// runs is how many runs the figures of an arm are of.
func (t *tuned) runs(a *tunedArm) int {
	if a.Final != nil {
		return a.Final.N
	}
	return len(a.Samples)
}

// named returns what an arm is recommended as, "" for nothing.
func (t *tuned) named(a *tunedArm) string {
	short := map[string]string{result.GoalFastest: "recommended", result.GoalCheapest: "least memory",
		result.GoalCompromise: "cheaper", result.GoalUnlimited: "without GOMEMLIMIT"}
	var out []string
	if t.file.Answer != nil && t.file.Answer.State == result.AnswerInconclusive && a.Arm == t.arms[0].Arm {
		return "" // nothing is recommended yet
	}
	for _, r := range t.file.Recommendations {
		if r.Arm == a.Name {
			out = append(out, short[r.Goal])
		}
	}
	return strings.Join(out, ", ")
}

func (t *tuned) point(a *tunedArm, lo, hi *float64) Point {
	p := Point{X: a.x, XLo: lo, XHi: hi, Y: t.of.scale(a.y), Name: a.Name, Tip: t.tip(a), Copy: t.line(a)}
	if a.lo != nil {
		l, h := t.of.scale(*a.lo), t.of.scale(*a.hi)
		p.YLo, p.YHi = &l, &h
	}
	return p
}

// line is what is to be pasted into a shell for an arm.
func (t *tuned) line(a *tunedArm) string { return t.file.Program.Line(a.Setting.Trial()) }

func (t *tuned) scatter() *Chart {
	c := &Chart{
		Kind: XY, Link: true, Title: formatf("%s against peak RSS, one point for each setting", t.of.label()),
		Caption: map[bool]string{true: "Upper", false: "Lower"}[t.of.spec.Higher] +
			" left is better. Vertical bars: simultaneous 95% intervals of the difference from the default. Horizontal bars: 95% intervals of peak RSS. Grey: dropped early, position approximate.",
		X: Axis{Label: "peak RSS of all processes", Scale: Log2, Format: Bytes}, Y: t.of.axis(),
		Hint: "Click a point, or press Enter on it, to copy the command line with its setting.",
	}
	front := Series{Name: "Pareto frontier of medians", Line: true, Bare: true, Dash: true, Mute: true}
	early := Series{Name: "dropped early", Shape: shapeGOGC, Light: 2}
	series := make([]Series, shapeTHP+1)
	for i := range t.arms {
		a := &t.arms[i]
		if !a.placed {
			continue
		}
		if a.Final == nil {
			early.P = append(early.P, t.point(a, nil, nil))
			continue
		}
		shape, name := kindOf(a.Setting)
		if i == 0 {
			shape, name = shapeDefault, "default"
		}
		p := t.point(a, a.memory.Lo, a.memory.Hi)
		if p.Text = t.named(a); p.Text == "" && i == 0 {
			p.Text = "default"
		}
		p.Big = p.Text != ""
		series[shape].Name, series[shape].Shape, series[shape].Color = name, shape, []int{shapeGOGC: 1, shapeDefault: 2,
			shapeLimit: 3, shapeBoth: 4, shapeTHP: 5}[shape]
		series[shape].P = append(series[shape].P, p)
	}
	for _, a := range t.front() {
		front.P = append(front.P, Point{X: a.x, Y: t.of.scale(a.y)})
	}
	if len(front.P) > 0 {
		c.Series = append(c.Series, front)
		c.Caption += " Dashed: settings of the final that none has beaten in both, by medians."
	}
	for _, s := range append([]Series{early}, series...) {
		if len(s.P) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return c
}

// byGOGC draws metric and memory against GOGC, for arms that set nothing else.
func (t *tuned) byGOGC() *Block {
	m := Series{Name: t.of.label(), Color: 1, Line: true}
	mem := Series{Name: "peak RSS", Color: 3, Shape: 2, Line: true}
	for i := range t.arms {
		a := &t.arms[i]
		x, err := 100.0, error(nil)
		if g := a.Setting.GOGC; g != nil {
			x, err = strconv.ParseFloat(*g, 64)
		} else if i > 0 {
			continue
		}
		rest := a.Setting.Trial()
		rest.GOGC, rest.Env = "", nil
		if err != nil || !a.placed || !rest.IsZero() {
			continue
		}
		p := t.point(a, nil, nil)
		p.X = x
		m.P = append(m.P, p)
		p.Y, p.YLo, p.YHi = a.memory.Median, a.memory.Lo, a.memory.Hi
		mem.P = append(mem.P, p)
	}
	if len(m.P) < 3 {
		return nil
	}
	byX := func(a, b Point) int { return cmp.Compare(a.X, b.X) }
	slices.SortFunc(m.P, byX)
	slices.SortFunc(mem.P, byX)
	tb := &Table{Caption: "Settings of GOGC alone", Head: cols("GOGC", t.of.label(), "peak RSS"), Sort: true}
	for i, p := range m.P {
		y := p.Y / t.of.scale(1)
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{num(formatf("%g", p.X), p.X), num(t.of.text(y), y), num(unit.Bytes(mem.P[i].Y), mem.P[i].Y)}})
	}
	x := Axis{Label: "GOGC", Scale: Log, Format: Count}
	hint := "Click a point to copy the command line with its setting."
	return &Block{
		Title: "What GOGC does", Fold: true, Tables: []*Table{tb},
		Words: []string{"Only settings that change nothing else; the default is at 100 unless the environment sets another."},
		Charts: []*Chart{
			{Kind: XY, Link: true, Title: t.of.label() + " against GOGC", Caption: "Points without bars were dropped early: approximate.", X: x, Y: t.of.axis(), Series: []Series{m}, Height: 280, Hint: hint},
			{Kind: XY, Link: true, Title: "Peak memory against GOGC", X: x,
				Y: Axis{Label: "peak RSS", Scale: Log2, Format: Bytes}, Series: []Series{mem}, Height: 240, Hint: hint},
		},
	}
}

// figures are the further columns of the tables.
func (t *tuned) figures() (out []figure.Figure) {
	if t.file.Live != nil {
		return nil // they are not of one length: see live
	}
	gc := "gc_cpu_fraction"
	known := func(key string) bool {
		return slices.ContainsFunc(t.arms, func(a tunedArm) bool { _, ok := a.Summary.Center(key); return ok })
	}
	if !known(gc) && known(byRuntime) {
		gc = byRuntime
	}
	for _, key := range []string{"memory_tax_fraction", gc, "wall_seconds", "cpu_seconds", "minor_faults"} {
		if f := figure.ByKey(key); f.Short != t.of.label() {
			out = append(out, f)
		}
	}
	return out
}

// cells are those of the further columns.
func (t *tuned) cells(a *tunedArm) (out []Cell) {
	for _, m := range t.figures() {
		v, ok := a.Summary.Center(m.Key)
		switch {
		case m.Key == "wall_seconds":
			v, ok = a.Final.Wall, true
		case m.Key == "cpu_seconds":
			v, ok = a.Final.CPU, true
		}
		if ok {
			out = append(out, num(m.Format(v), v))
		} else {
			out = append(out, plain("-"))
		}
	}
	return out
}

func (t *tuned) heads(tb *Table) {
	for _, m := range t.figures() {
		tb.Head = append(tb.Head, Column{Label: m.Short, Num: true, Minor: true})
	}
}

// briefRivals is how many settings that are no answer are listed where not all is shown.
const briefRivals = 2

// table lists the final: the default first, then the best first. Where there was none,
// it lists what was measured.
func (t *tuned) table() *Table {
	if len(t.arms) == 0 || t.arms[0].Final == nil {
		return t.measured()
	}
	against := "recommended setting"
	if r := t.file.Recommendations; len(r) > 0 && r[0].Arm == t.arms[0].Name {
		against = "default"
	}
	tb := &Table{
		Caption: formatf("Ranked by %s, adjusted for drift; simultaneous 95%% intervals", t.of.label()),
		Sort:    true, Head: append(cols("setting", t.of.label(), "vs default"), Column{Label: ""},
			Column{Label: "peak RSS", Num: true}, Column{Label: "peak RSS vs default", Num: true}, Column{Label: t.noun() + "s", Num: true}),
	}
	for _, m := range []struct{ mark, text string }{{"=", "as good as the " + against}, {"?", "not clearly different from the " + against}} {
		if slices.ContainsFunc(t.arms, func(a tunedArm) bool { return a.Final != nil && report.Mark(t.file, a.Arm) == m.mark }) {
			tb.Caption += "; " + m.mark + " " + m.text
		}
	}
	if report.AnyGrowing(t.file) {
		tb.Caption += "; " + report.Growing
	}
	tb.Caption += HeadingsSort
	tb.Head[3].Label, tb.Head[5].Minor = "answer", true
	t.heads(tb)
	drop(tb.Head, t.noun()+"s")
	order, rivals := t.ranked(), 0
	for i, a := range order {
		delta, more := plain(report.OverLimit(a.Arm)), plain("") // the first of the default, which has no ratio
		if e := a.Final.Ratio; e != nil {
			delta = num(report.Change(e), e.Ratio)
		}
		if e := a.Final.MemoryRatio; e != nil && a != order[0] {
			more = num(report.Change(e), e.Ratio)
		}
		name := t.named(a)
		mark := name
		if stands := report.Mark(t.file, a.Arm); stands == "=" || stands == "?" {
			mark = strings.TrimPrefix(name+", "+stands, ", ")
		}
		if i > 0 && name == "" {
			rivals++
		}
		tb.Rows = append(tb.Rows, Row{Mark: name != "", Minor: i > 0 && name == "" && rivals > briefRivals, Cells: append([]Cell{
			code(a.Name), num(t.of.text(a.Final.Adjusted), a.Final.Adjusted), delta, plain(mark), peak(a), more,
			num(itoa(a.Final.N), float64(a.Final.N)),
		}, t.cells(a)...)})
	}
	return tb
}

// ranked are the arms of the final: the default first, then the best first.
func (t *tuned) ranked() (out []*tunedArm) {
	for i := range t.arms {
		if t.arms[i].Final != nil {
			out = append(out, &t.arms[i])
		}
	}
	if len(out) > 1 {
		slices.SortStableFunc(out[1:], func(a, b *tunedArm) int { return cmp.Compare(a.Final.Rank, b.Final.Rank) })
	}
	return out
}

func peak(a *tunedArm) Cell {
	if m := a.Final.Memory; m != nil {
		return num(report.Peak(a.Arm, *m), *m)
	}
	return plain("-")
}
