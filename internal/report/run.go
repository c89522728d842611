package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/unit"
)

// A Run is what folio run shows.
type Run struct {
	Title   string
	Samples []*trial.Sample
	Sheet   diagnose.Sheet
	Metric  *metric.Spec
	Notes   *stat.Notes
	// Width is how many columns bars may take with their texts; 0 when that is not
	// known.
	Width int
}

// Text prints the memory sheet: one figure a line, medians when there were several runs.
func (r *Run) Text(w io.Writer) error {
	ok := Usable(r.Samples)
	p := &printer{w: w}
	p.lines(r.Title)
	p.line("")
	if err := r.figures(ok).write(w, "  "); err != nil {
		return err
	}
	time := r.Sheet.Time()
	if res := r.Sheet.Where; res != nil {
		time = append(append(shares(res, r.Width), ""), time...) // the bars, then what they mean
	}
	p.section("Where the time goes", time)
	if res := r.Sheet.Where; res != nil && len(res.Sites) > 0 {
		p.section("Who pays the memory tax", sites(res))
	}
	var next []string
	for i, f := range r.Sheet.Advise() {
		next = append(next, fmt.Sprintf("%d. %s", i+1, f.What), "   seen: "+f.Evidence, "   try:  "+f.Fix)
	}
	if len(next) == 0 {
		next = []string{r.Sheet.Nothing()}
	}
	p.section("What to try next", next)
	p.notes(r.Notes)
	return p.err
}

// Usable returns the samples that count, or, when none does, all as if they
// did: a failed run's figures still say how far it came.
func Usable(samples []*trial.Sample) []*trial.Sample {
	var good, all []*trial.Sample
	for _, s := range samples {
		if s.OK() {
			good = append(good, s)
		}
		c := *s
		c.Failure = ""
		all = append(all, &c)
	}
	if len(good) > 0 {
		return good
	}
	return all
}

// figures returns the sheet's table: value, what it is, and how well it is known.
func (r *Run) figures(samples []*trial.Sample) *table {
	t := &table{left: map[int]bool{1: true}}
	row := func(key, more string) {
		f := trial.FigureOf(key)
		text := f.Label + more
		center, ok := f.Center(samples)
		if !ok {
			return
		}
		if trial.AnySampled(key, samples) {
			text += " (sampled)"
		}
		spread := ""
		if len(samples) > 1 && !f.Pooled {
			spread = spreadOrNote(r.Notes, stat.Summarize(f.Values(samples)))
		}
		t.rows = append(t.rows, []string{f.Format(center), text, spread})
	}
	row("wall_seconds", "")
	row("user_seconds", "")
	row("sys_seconds", "")
	row("cpu_seconds", "")
	row("peak_rss_bytes", "")
	if many(samples) {
		row("peak_tree_rss_bytes", "")
	}
	row("minor_faults", "")
	row("major_faults", "")
	if r.Sheet.Cycles != nil {
		least := ""
		if r.Sheet.AtLeast {
			least = ", at least"
		}
		row("gc_cycles", least)
		row("gc_pause_seconds", least)
		row("gc_pause_max_seconds", least)
	}
	row("gc_cpu_seconds", "")
	row("gc_cpu_fraction", "")
	if r.Sheet.Where == nil && r.Sheet.Cycles != nil {
		row("gc_trace_cpu_seconds", "")
	}
	row("memory_tax_fraction", "")
	row("heap_peak_bytes", "")
	row("huge_peak_bytes", "")
	if c, ok := coverage(samples); ok {
		t.rows = append(t.rows, []string{unit.Percent(c), "of RSS on huge pages"})
	}
	if r.Metric != nil && r.Metric.Pattern != nil {
		var v []float64
		for _, s := range samples {
			if x, ok := s.Metrics[r.Metric.Name]; ok {
				v = append(v, x)
			}
		}
		if len(v) > 0 {
			t.rows = append(t.rows, []string{Metric(r.Metric, stat.Median(v)), r.Metric.Name, Spread(stat.Summarize(v))})
		}
	}
	return t
}

// many says whether the program was more than one process at a time.
func many(samples []*trial.Sample) bool {
	for _, s := range samples {
		if s.PeakRSS != nil && s.PeakTreeRSS != nil && *s.PeakTreeRSS > *s.PeakRSS+*s.PeakRSS/50 {
			return true
		}
	}
	return false
}

// coverage returns the part of the peak memory that was on huge pages. The two
// peaks need not be of the same moment.
func coverage(samples []*trial.Sample) (float64, bool) {
	huge := stat.Median(trial.FigureOf("huge_peak_bytes").Values(samples))
	rss := stat.Median(trial.FigureOf("peak_tree_rss_bytes").Values(samples))
	if math.IsNaN(huge) || math.IsNaN(rss) || rss == 0 {
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
