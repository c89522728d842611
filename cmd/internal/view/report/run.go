package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// runText prints the memory sheet: one figure a line, medians when there were several runs.
func runText(f *result.File, w io.Writer, width int) error {
	arm, a := &f.Arms[0], f.Analysis
	notes := notesOf(f)
	p := &printer{w: w}
	title := Title(f)
	if !arm.Setting.Trial().IsZero() {
		title += ", " + console.Line(arm.Name)
	}
	if n := len(result.Usable(arm.Samples)); n > 1 {
		title += fmt.Sprintf("; medians of %d runs", n)
	}
	p.lines(title)
	p.line("")
	if err := runFigures(f, notes).write(w, "  "); err != nil {
		return err
	}
	if a != nil { // of the runs above, not of the memory of one of them
		if text := Noise(a.Noise); text != "" {
			p.line("  %s.", text)
		}
	}
	if arm.Waterfall != nil {
		if err := p.nearPeak(arm.Waterfall); err != nil {
			return err
		}
	}
	if lines := loadLines(f); lines != nil {
		p.section("Latency, from the intended start", lines)
	}
	if a == nil {
		p.section("Not completed", []string{"The measurement ended before its result was analyzed."})
		p.notes(notes)
		return p.err
	}
	heading, time := "CPU time", a.Time
	if a.Profile != nil {
		heading = "CPU time by class"
		time = append(append(shares(a.Profile, width), ""), time...) // the bars, then what they mean
	}
	p.section(heading, time)
	if a.Profile != nil && len(a.Profile.Sites) > 0 {
		p.section("Call sites with the most memory tax", sites(a.Profile))
	}
	var next []string
	for i, f := range a.Findings {
		next = append(next, fmt.Sprintf("%d. %s", i+1, f.What), "   evidence: "+f.Evidence, "   fix:      "+f.Fix)
	}
	if len(next) == 0 {
		next = []string{a.Nothing}
	}
	p.section("Recommendations", next)
	p.notes(notes)
	return p.err
}

// notesOf returns the notes of the result, numbered.
func notesOf(f *result.File) *stat.Notes { return numbered(f.Notes) }

func numbered(texts []string) *stat.Notes {
	out := &stat.Notes{}
	for _, n := range texts {
		out.Add(n)
	}
	return out
}

// runFigures returns the sheet's table: value, what it is, and how well it is known.
func runFigures(f *result.File, notes *stat.Notes) *table {
	arm := &f.Arms[0]
	sum, samples := &arm.Summary, result.Usable(arm.Samples)
	t := &table{left: map[int]bool{1: true}}
	partial := f.Analysis != nil && f.Analysis.GC == result.GCPartial
	row := func(key string) {
		center, ok := sum.Center(key)
		if !ok {
			return
		}
		fig, i := figure.ByKey(key), sum.Figures[key]
		text, spread := fig.Label, ""
		if partial && fig.OfGC {
			text += ", at least"
		}
		if i.Sampled {
			text += " (sampled)"
		}
		if len(samples) > 1 && !fig.Pooled {
			spread = spreadOrNote(notes, i)
		}
		t.add(fig.Format(center), text, spread)
	}
	row("wall_seconds")
	row("user_seconds")
	row("sys_seconds")
	row("cpu_seconds")
	row("peak_rss_bytes")
	if many(samples) {
		row("peak_tree_rss_bytes")
	}
	row("cgroup_peak_bytes")
	row("oom_kills")
	row("minor_faults")
	row("major_faults")
	if f.Analysis != nil && f.Analysis.GC != "" {
		row("gc_cycles")
		row("gc_pause_seconds")
		row("gc_pause_max_seconds")
	}
	row("gc_cpu_seconds")
	row("gc_cpu_fraction")
	if f.Analysis != nil && f.Analysis.GC != "" && RuntimeCPUSays(sum) {
		row("gc_runtime_cpu_seconds")
	}
	row("cpu_per_request_seconds")
	row("memory_tax_fraction")
	row("heap_peak_bytes")
	row("huge_peak_bytes")
	for _, key := range []string{"throttled_seconds", "throttled_periods", "cpu_periods", "memory_stall_seconds",
		"memory_full_stall_seconds", "file_refaults", "anon_refaults"} {
		row(key)
	}
	if c, ok := coverage(sum); ok {
		t.add(unit.Percent(c), "of RSS on huge pages")
	}
	if spec := f.Metric.Spec(); spec.Pattern != nil {
		if m, ok := sum.Metrics[spec.Name]; ok {
			t.add(Metric(spec, m.Median), spec.Name, m.Summary().SpreadText())
		}
	}
	return t
}

// RuntimeCPUSays says whether the GC's CPU time by the runtime is to be shown: it is an estimate for
// where samples do not tell, and can be more than all CPU time.
func RuntimeCPUSays(s *result.Summary) bool {
	_, sampled := s.Center("gc_cpu_seconds")
	traced, ok := s.Center("gc_runtime_cpu_seconds")
	cpu, known := s.Center("cpu_seconds")
	return ok && !sampled && (!known || traced <= cpu)
}

// many says whether the program was more than one process at a time.
func many(samples []*result.Sample) bool {
	for _, s := range samples {
		if s.PeakRSS != nil && s.PeakTreeRSS != nil && *s.PeakTreeRSS > *s.PeakRSS+*s.PeakRSS/50 {
			return true
		}
	}
	return false
}

// coverage returns the part of the peak memory that was on huge pages. The two
// peaks need not be of the same moment.
func coverage(s *result.Summary) (float64, bool) {
	huge, ok := s.Center("huge_peak_bytes")
	rss, known := s.Center("peak_tree_rss_bytes")
	if !ok || !known || rss == 0 {
		return 0, false
	}
	return min(huge/rss, 1), true
}

// A printer writes lines and keeps the first error.
type printer struct {
	w   io.Writer
	err error
}

// line prints one line, whatever is in the arguments.
func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, console.Line(fmt.Sprintf(format, args...))+"\n")
	}
}

// lines prints a text that has several.
func (p *printer) lines(text string) {
	for l := range strings.SplitSeq(text, "\n") {
		p.line("%s", l)
	}
}

func (p *printer) section(title string, lines []string) {
	p.line("")
	p.line("%s", title)
	for _, l := range lines {
		p.line("%s", strings.TrimRight("  "+l, " "))
	}
}

// notes prints what was collected, numbered.
func (p *printer) notes(n *stat.Notes) {
	if n == nil || len(n.Texts()) == 0 {
		return
	}
	p.line("")
	for i, text := range n.Texts() {
		p.line("note %d: %s", i+1, text)
	}
}
