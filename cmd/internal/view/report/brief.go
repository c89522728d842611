package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// A screen has so many lines and columns: that is what the answer of a run takes at most.
const (
	screenLines   = 24
	screenColumns = 80
)

// noCycleCounter begins the note of a machine without one, which folio doctor has as well.
const noCycleCounter = "no cycle counter can be used here"

const (
	briefClass   = 0.02 // classes of less CPU time are left out
	briefClasses = 8
	briefSites   = 3
)

// runBrief prints the answer of a run: what memory costs it, where, and what to do next.
func runBrief(f *result.File, w io.Writer, width int) error {
	arm, a := &f.Arms[0], f.Analysis
	if width == 0 || width > screenColumns {
		width = screenColumns
	}
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
	if a == nil {
		p.line("The measurement ended before its result was analyzed.")
	} else {
		p.briefAnswer(a)
	}
	p.wrapped("", briefFigures(f), width)
	if a != nil && Noise(a.Noise) != "" {
		p.wrapped("", Noise(a.Noise)+".", width)
	}
	if lines := loadLines(f); lines != nil {
		p.section("Latency, from the intended start", lines)
	}
	if a != nil {
		p.briefProfile(a.Profile, width)
		p.briefNext(a, width)
	}
	p.briefNotes(f, width)
	p.line("--full shows all figures, classes, call sites and their evidence.")
	return p.err
}

// briefAnswer says what memory costs, as far as that is known.
func (p *printer) briefAnswer(a *result.Analysis) {
	switch {
	case len(a.Time) > 0 && strings.HasPrefix(a.Time[0], "Unknown"):
		p.wrapped("", a.Time[0], screenColumns)
	case a.Tax == nil:
		text := "What memory costs it is not known: there are no samples, or too few."
		for _, l := range a.Time {
			if of, ok := strings.CutPrefix(l, "GC CPU by the runtime: "); ok {
				of, _, _ = strings.Cut(of, ". ")
				text += " The GC, as the runtime counts: " + of + "."
			}
		}
		p.wrapped("", text, screenColumns)
	default:
		text := fmt.Sprintf("%s [%s, %s] of CPU time goes to memory", unit.Percent(a.Tax.Fraction), unit.Percent(a.Tax.Lo), unit.Percent(a.Tax.Hi))
		if gc := a.Profile.GCFraction; gc != nil {
			text += fmt.Sprintf(": GC %s, the rest %s", unit.Percent(*gc), unit.Percent(max(a.Tax.Fraction-*gc, 0)))
		}
		p.wrapped("", text+".", screenColumns)
	}
}

// briefFigures are the figures that most readers look for.
func briefFigures(f *result.File) string {
	sum := &f.Arms[0].Summary
	partial := f.Analysis != nil && f.Analysis.GC == result.GCPartial
	var out []string
	for _, x := range []struct{ key, what string }{
		{"wall_seconds", "wall"}, {"cpu_seconds", "CPU time"}, {"peak_tree_rss_bytes", "peak RSS"}, {"minor_faults", "page faults"},
		{"gc_cycles", "GC cycles"}, {"gc_pause_seconds", "stop-the-world"}, {"throttled_seconds", "throttled"}, {"oom_kills", "OOM kills"},
	} {
		v, ok := sum.Center(x.key)
		if !ok && x.key == "peak_tree_rss_bytes" {
			x.key = "peak_rss_bytes"
			v, ok = sum.Center(x.key)
		}
		if !ok || v == 0 && x.key == "oom_kills" {
			continue
		}
		fig := figure.ByKey(x.key)
		text := fig.Format(v) + " " + x.what
		if x.what == "peak RSS" && f.Arms[0].Growing() {
			text += " and still growing"
		}
		if v == 1 && fig.Kind == figure.Count {
			text = strings.TrimSuffix(text, "s")
		}
		if partial && fig.OfGC {
			text = "at least " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// briefProfile shows the classes that matter, and the call sites that pay most.
func (p *printer) briefProfile(r *result.Profile, width int) {
	if r == nil {
		return
	}
	large := *r
	large.Classes = slices.DeleteFunc(slices.Clone(r.Classes), func(c result.ClassShare) bool { return c.Fraction < briefClass })
	slices.SortStableFunc(large.Classes, func(a, b result.ClassShare) int {
		if a.Class.Info().Memory == b.Class.Info().Memory {
			return 0
		} else if a.Class.Info().Memory {
			return -1
		}
		return 1
	})
	large.Classes = large.Classes[:min(briefClasses, len(large.Classes))]
	p.line("")
	for _, l := range shares(&large, width) {
		p.line("  %s", strings.TrimRight(l, " "))
	}
	if len(r.Sites) > 0 {
		p.line("")
	}
	for _, s := range r.Sites[:min(briefSites, len(r.Sites))] {
		line := fmt.Sprintf("%8s  %s  %s", unit.Percent(s.Fraction), s.Name(), s.Place())
		p.line("%s", clipped(line, width))
	}
}

// clipped shortens a line in the middle, where names are longest.
func clipped(line string, width int) string {
	r := []rune(line)
	if len(r) <= width {
		return line
	}
	const head = 14 // the share, and where the name begins
	return string(r[:head]) + "..." + string(r[len(r)-(width-head-3):])
}

// briefNext says what to do first.
func (p *printer) briefNext(a *result.Analysis, width int) {
	p.line("")
	if len(a.Findings) == 0 {
		p.wrapped("", a.Nothing, width)
		return
	}
	first := a.Findings[0]
	text := "Next: " + first.What
	if n := len(a.Findings) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more)", n)
	}
	p.wrapped("", text, width)
	if strings.HasPrefix(first.Fix, "folio ") {
		p.line("  %s", first.Fix) // to paste: it is not wrapped
	} else {
		p.wrapped("  ", first.Fix, width)
	}
}

// briefNotes prints the notes, but for those that hold of every run on this machine.
func (p *printer) briefNotes(f *result.File, width int) {
	texts := slices.DeleteFunc(slices.Clone(f.Notes), func(n string) bool { return strings.HasPrefix(n, noCycleCounter) })
	p.line("")
	for i, n := range texts {
		p.wrapped("", fmt.Sprintf("note %d: %s", i+1, n), width)
	}
}

// wrapped prints a text in lines of so many columns; all but the first are indented further.
func (p *printer) wrapped(indent, text string, width int) {
	for _, l := range console.Wrap(indent, indent+"  ", text, width) {
		p.line("%s", l)
	}
}
