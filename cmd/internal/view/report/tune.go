package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Tune is what folio tune shows of a result file.
type Tune struct {
	File  *result.File
	Notes *stat.Notes
	// Width is how many columns table and plot may take; 0 when that is not known.
	Width int
	// All lists the settings that are not in the final, too.
	All bool
}

// Text prints the answer, the table of settings and the front.
func (t *Tune) Text(w io.Writer) error {
	p := &printer{w: w}
	t.answer(p)
	t.steps(p)
	t.advice(p)
	p.line("")
	p.lines(Title(t.File))
	f := t.File
	trials := 0
	for _, a := range f.Arms {
		trials += len(a.Samples)
	}
	ended := Ended(f)
	if ended != "" {
		ended = ": " + ended
	}
	p.line("%s, %s in %s, seed %d%s", unit.Plural(len(f.Arms), "setting"), unit.Plural(trials, "run"),
		unit.ElapsedSeconds(f.ElapsedSeconds), *f.Seed, ended)
	if t.All || f.Answer == nil || f.Answer.State != result.AnswerNoEffect {
		p.line("")
		if p.err == nil {
			p.err = t.table().write(w, "")
		}
		t.legend(p)
	}
	loaded := LoadedArms(f, t.All)
	if lt, caption := loadTable(loaded, t.Width); lt != nil && p.err == nil {
		p.line("")
		p.line("%s", caption)
		if p.err == nil {
			p.err = lt.write(w, "")
		}
		for _, text := range Failures(loaded) {
			p.line("%s", text)
		}
	}
	t.benchmarks(p)
	if front := frontOf(f); len(front) > 1 {
		p.line("")
		for _, l := range t.plot(front) {
			p.line("%s", l)
		}
	}
	p.notes(t.Notes)
	return p.err
}

// answer prints what to do: the setting, what it gains, what it costs.
func (t *Tune) answer(p *printer) {
	answers, sure := Answers(t.File)
	ways := false
	for i, s := range answers {
		if i == 0 {
			p.line("%s", s.Set)
			p.more(s.Gain, s.Cost)
		} else {
			p.line("%s: %s", Heading(s.Goal), s.Set)
			p.more(join(before(s.Gain), before(s.Cost)))
		}
		p.more(s.Line)
		ways = keep(p, s.Permanent, ways)
		if i == 0 {
			p.more(append(s.Notes, sure)...)
		}
	}
}

// advice prints what to do beside the settings.
func (t *Tune) advice(p *printer) {
	for _, n := range t.File.Advice {
		p.line("%s.", n.What)
		p.more("evidence: "+n.Evidence, "fix:      "+n.Fix)
	}
}

// before returns what comes before the figures that a difference is of.
func before(s string) string {
	s, _, _ = strings.Cut(s, ": ")
	return s
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

// more prints lines of an answer, those that are not empty.
func (p *printer) more(lines ...string) {
	for _, l := range lines {
		if l != "" {
			p.line("  %s", l)
		}
	}
}

// keep prints how to have a setting for good. The ways to choose from differ little from
// one setting to another: they are said once. It reports whether they have been.
func keep(p *printer, lines []string, said bool) bool {
	if len(lines) == 0 {
		return said
	}
	head, some := strings.CutSuffix(lines[0], "these:")
	switch {
	case !some || strings.HasSuffix(head, "all of "): // nothing to choose
		p.line("  %s", lines[0])
		for _, l := range lines[1:] {
			p.line("    %s", l)
		}
		return said
	case said:
		p.line("  %s", head+"the above")
	default:
		p.line("  %s", lines[0])
		for _, l := range lines[1:] {
			p.line("    %s", l)
		}
	}
	return said || some
}

// ranked returns the arms as the table lists them: the default, the others of the
// final, best first, and the rest.
func ranked(f *result.File) []*result.Arm {
	var out []*result.Arm
	for i := range f.Arms {
		out = append(out, &f.Arms[i])
	}
	if len(out) == 0 {
		return nil
	}
	rank := func(a *result.Arm) int {
		if a.Final == nil {
			return len(out) + 1
		}
		return a.Final.Rank
	}
	slices.SortStableFunc(out[1:], func(a, b *result.Arm) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// compared says whether there was a final that compared something.
func compared(f *result.File) bool { return len(f.Arms) > 0 && f.Arms[0].Final != nil }

// A column is one of the table's.
type column struct {
	head string
	left bool
	cell func(*result.Arm) string
}

// columns returns the table's, most important first.
func (t *Tune) columns() []column {
	f := t.File
	spec := f.Metric.Spec()
	median := func(key string, format func(float64) string) func(*result.Arm) string {
		return func(a *result.Arm) string {
			if v, ok := a.Summary.Center(key); ok {
				return format(v)
			}
			return none
		}
	}
	count := func(a *result.Arm) string { return fmt.Sprint(len(a.Samples)) }
	memory := func(a *result.Arm) string {
		if v := a.PeakMemory(); v.N > 0 {
			return Peak(a, v.Median)
		}
		return none
	}
	if !compared(f) {
		return []column{{"setting", true, func(a *result.Arm) string { return a.Name }},
			{f.Metric.Label(), false, func(a *result.Arm) string { return asMeasured(f, a) }},
			{"peak RSS", false, memory}, {"n", false, count}, {"", true, func(a *result.Arm) string { return LeftEarly(a) }}}
	}
	out := []column{
		{"", true, func(a *result.Arm) string { return Mark(t.File, a) }},
		{"setting", true, func(a *result.Arm) string { return a.Name }},
		{f.Metric.Label(), false, func(a *result.Arm) string {
			if a.Final == nil {
				return ""
			}
			return Metric(spec, a.Final.Adjusted)
		}},
		{"vs default [95%]", true, func(a *result.Arm) string {
			if a.Final == nil {
				return LeftEarly(a)
			}
			if a.Final.Ratio == nil {
				return OverLimit(a) // of the default
			}
			return Change(a.Final.Ratio)
		}},
		{"peak RSS", false, memory},
		{"n", false, func(a *result.Arm) string {
			if a.Final == nil {
				return count(a)
			}
			return fmt.Sprint(a.Final.N)
		}},
	}
	adjusted := map[string]func(*result.Final) float64{
		result.MetricWall: func(f *result.Final) float64 { return f.Wall }, result.MetricCPU: func(f *result.Final) float64 { return f.CPU },
	}
	for _, key := range []string{"memory_tax_fraction", "gc_cpu_fraction", "gc_runtime_cpu_seconds", "wall_seconds",
		"cpu_seconds", "minor_faults"} {
		c := figure.ByKey(key)
		known := slices.ContainsFunc(f.Arms, func(a result.Arm) bool { _, ok := a.Summary.Center(c.Key); return ok })
		sampled := slices.ContainsFunc(out, func(o column) bool { return o.head == figure.ByKey("gc_cpu_fraction").Short })
		if c.Short == spec.Name || !known || c.Short == byRuntime && sampled {
			continue
		}
		cell := median(c.Key, c.Format)
		out = append(out, column{c.Short, false, func(a *result.Arm) string {
			if a.Final == nil {
				return "" // of few runs, while the machine was as it was then
			}
			if of := adjusted[c.Short]; of != nil {
				return c.Format(of(a.Final))
			}
			return cell(a)
		}})
	}
	return out
}

// Growing explains the mark of [Peak].
const Growing = "+ still growing when the load ended"

// AnyGrowing says whether the peak of some setting has that mark.
func AnyGrowing(f *result.File) bool {
	return slices.ContainsFunc(f.Arms, func(a result.Arm) bool { return a.Growing() })
}

// Peak prints the peak memory of a setting in a table.
func Peak(a *result.Arm, bytes float64) string {
	if a.Growing() {
		return unit.Bytes(bytes) + "+"
	}
	return unit.Bytes(bytes)
}

// byRuntime heads what stands in where nothing was sampled, runtimeIs says what it is.
var byRuntime = figure.ByKey("gc_runtime_cpu_seconds").Short

const (
	runtimeIs = "CPU time as the runtime counts it: GC workers also while they wait for a CPU, without sweeping and write barriers"
)

// asMeasured prints the median of an arm where nothing was compared.
func asMeasured(f *result.File, a *result.Arm) string {
	if a.Measured == nil {
		return none
	}
	return Metric(f.Metric.Spec(), a.Measured.Median)
}

// Mark says how a setting stands to the recommended one: ">" it is recommended, "=" it
// cannot be told apart from that and looks the same, "?" it looks better or worse, with too
// few runs to know.
func Mark(f *result.File, a *result.Arm) string {
	switch {
	case a.Final == nil || len(f.Recommendations) == 0:
		return ""
	case a.Name == f.Recommendations[0].Arm:
		if a == &f.Arms[0] && f.Answer != nil && f.Answer.State == result.AnswerInconclusive {
			return "" // nothing is recommended yet
		}
		return ">"
	case a.Final.Tied:
		return "="
	case a.Final.Undecided:
		return "?"
	}
	return ""
}

// listed says whether the table has a row for an arm.
func (t *Tune) listed(a *result.Arm) bool {
	return t.All || !compared(t.File) || a.Final != nil || a.Status == string(result.StatusOverLimit)
}

// table lists the settings, with as many columns as there is room for. Where there is
// too little even for the main ones, intervals are left out.
func (t *Tune) table() *table {
	const least = 6
	columns := t.columns()
	for {
		tb := t.rows(columns)
		switch {
		case t.Width <= 0 || tb.width() <= t.Width || columns[len(columns)-1].head == "":
			return tb
		case len(columns) > least:
			columns = columns[:len(columns)-1]
		case columns[intervals].head == plainHead:
			return tb
		default:
			columns[intervals] = column{plainHead, false, func(a *result.Arm) string {
				if a.Final == nil || a.Final.Ratio == nil {
					return LeftEarly(a)
				}
				return short(a.Final.Ratio)
			}}
		}
	}
}

// intervals is the column that has them, plainHead its heading without them.
const (
	intervals = 3
	plainHead = "vs default"
)

func (t *Tune) rows(columns []column) *table {
	tb := &table{left: make(map[int]bool)}
	head := make([]string, len(columns))
	for i, c := range columns {
		head[i], tb.left[i] = c.head, c.left
	}
	tb.add(head...)
	for _, a := range ranked(t.File) {
		if !t.listed(a) {
			continue
		}
		row := make([]string, len(columns))
		for i, c := range columns {
			row[i] = c.cell(a)
		}
		tb.add(row...)
	}
	return tb
}

// legend explains the marks, and says what the table leaves out.
func (t *Tune) legend(p *printer) {
	f := t.File
	if !compared(f) {
		return
	}
	var parts []string
	marked := func(mark string) bool {
		for i := range f.Arms {
			if Mark(f, &f.Arms[i]) == mark {
				return true
			}
		}
		return false
	}
	if marked(">") {
		parts = append(parts, "> recommended")
	}
	switch {
	case marked("=") && marked(">"):
		parts = append(parts, "= not different from it")
	case marked("="):
		parts = append(parts, "= not different from the default")
	}
	if marked("?") {
		parts = append(parts, "? too few runs to tell")
	}
	if AnyGrowing(f) {
		parts = append(parts, Growing)
	}
	parts = append(parts, "times are adjusted for drift")
	p.line("%s", strings.Join(parts, "; "))
	counts := make(map[string]int)
	for i := range f.Arms {
		if a := &f.Arms[i]; !t.listed(a) {
			counts[a.Status]++
		}
	}
	var left []string
	for _, s := range []struct {
		status result.Status
		text   string
	}{{result.StatusEarly, "left early"}, {result.StatusSame, "do the same as another"}, {result.StatusFailed, "failed"}} {
		if n := counts[string(s.status)]; n > 0 {
			left = append(left, fmt.Sprintf("%d %s", n, s.text))
		}
	}
	if len(left) > 0 {
		p.line("more settings: %s (--all lists them)", strings.Join(left, ", "))
	}
}

// benchmarks prints, when there are several, each Go benchmark under the default and
// under what is recommended.
func (t *Tune) benchmarks(p *printer) {
	f := t.File
	if f.Answer == nil || len(f.Answer.Benchmarks) == 0 {
		return
	}
	tb := &table{left: map[int]bool{0: true, 3: true}}
	tb.add("benchmark", "default", f.Recommendations[0].Arm, "vs default [95%]")
	for _, b := range f.Answer.Benchmarks {
		tb.add(benchmarkName(b.Name), unit.Seconds(b.Default/1e9), unit.Seconds(b.Setting/1e9), Change(b.Ratio))
	}
	p.line("")
	if p.err == nil {
		p.err = tb.write(p.w, "")
	}
}

// width is how many columns the table takes.
func (t *table) width() int {
	widths := make(map[int]int)
	for _, r := range t.rows {
		for i, c := range r {
			widths[i] = max(widths[i], utf8.RuneCountInString(c))
		}
	}
	sum := -2
	for _, w := range widths {
		if w > 0 {
			sum += w + 2
		}
	}
	return sum
}

// label is the heading of what is optimised.
func (t *Tune) label() string { return t.File.Metric.Label() }
