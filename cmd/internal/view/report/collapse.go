package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Collapse prints what became of the process.
func Collapse(w io.Writer, f *result.Collapse) error {
	if err := sayRedacted(w, f.Header); err != nil {
		return err
	}
	p := &printer{w: w}
	p.line("process %d: %s", f.PID, commandText(f.Command, f.Name))
	about := "the Go heap"
	if f.All {
		about = "all anonymous memory"
	}
	if f.GoVersion != nil {
		about = *f.GoVersion + ", " + about
	}
	p.line("%s", about)
	p.line("")
	if err := states(f).write(w, "  "); err != nil {
		return err
	}
	size := uint64(0)
	if f.Before != nil && f.Before.Windows != nil {
		size = f.Before.Windows.Size
	}
	title := fmt.Sprintf("Windows, %s each", unit.Size(size))
	if f.DryRun {
		p.section(title+", that would be", planned(f))
	} else {
		p.section(title, outcomes(f))
	}
	p.notes(numbered(f.Notes))
	return p.err
}

// states compares before and after.
func states(f *result.Collapse) *table {
	t := &table{left: map[int]bool{0: true}}
	cells := func(s *result.CollapseState) [4]string {
		if s == nil || s.Windows == nil {
			return [4]string{none, none, none, none}
		}
		out := [4]string{unit.Size(s.Resident), unit.Size(s.Windows.HugeSize), unit.Percent(s.Windows.Coverage), none}
		if x := s.Faults; x != nil && x.Seconds > 0 {
			out[3] = unit.Count(float64(x.Minor+x.Major) / x.Seconds)
		}
		return out
	}
	before, after := cells(f.Before), cells(f.After)
	head := []string{"", "before", "after"}
	if f.DryRun {
		head = []string{"", "now"}
	}
	t.add(head...)
	for i, name := range []string{"resident, process", "huge", "coverage", "faults/s"} {
		row := []string{name, before[i], after[i]}
		t.add(row[:len(head)]...)
	}
	return t
}

// rows lays out counts and what they are of; those of nothing are left out.
type rows []string

func (r *rows) add(n int, format string, args ...any) {
	if n > 0 {
		*r = append(*r, fmt.Sprintf("%7s  ", unit.Count(float64(n)))+fmt.Sprintf(format, args...))
	}
}

func planned(f *result.Collapse) []string {
	var out rows
	out.add(f.Windows.Collapsed, "collapsed: %s, which takes %s more memory%s", unit.Size(f.Bytes), unit.Size(f.Filled), atRate(f))
	others(f, &out)
	if f.Windows.Collapsed == 0 {
		out = append(out, "nothing is to be done")
	}
	return out
}

func atRate(f *result.Collapse) string {
	if f.Rate == nil || *f.Rate == 0 {
		return ""
	}
	return fmt.Sprintf(", in %s at %s/s", unit.Seconds(float64(f.Bytes)/float64(*f.Rate)), unit.Size(*f.Rate))
}

func others(f *result.Collapse, out *rows) {
	x := f.Windows
	out.add(x.Already, "huge already")
	out.add(x.Sparse, "left alone: less than %.0f%% in memory", 100*f.MinDensity)
	out.add(x.OptedOut, "left alone: the program advised against huge pages there (MADV_NOHUGEPAGE)")
	if f.Budget != nil {
		out.add(x.OverBudget, "left alone: beyond --budget %s", unit.Size(*f.Budget))
	}
}

func outcomes(f *result.Collapse) []string {
	var out rows
	o := f.Windows
	if o.Collapsed > 0 {
		text := fmt.Sprintf("collapsed: %s in %s", unit.Size(f.Bytes), unit.Seconds(f.Elapsed))
		if s := f.InKernel; s > 0 {
			text += fmt.Sprintf(", %s of it in the kernel (%s/s)", unit.Seconds(s), unit.Bytes(float64(f.Bytes)/s))
		}
		out.add(o.Collapsed, "%s", text)
	}
	others(f, &out)
	out.add(o.Released, "released by the program before their turn")
	for _, word := range slices.Sorted(maps.Keys(o.Refused)) {
		out.add(o.Refused[word], "refused by the kernel: %s", word)
	}
	out.add(o.Deferred, "of these left for later: refused, or released by the program, a short while ago")
	switch {
	case f.Ended:
		out.add(o.NotTried, "not reached: the process ended")
	case f.Interrupted:
		out.add(o.NotTried, "not reached: interrupted")
	default:
		out.add(o.NotTried, "not tried: the kernel has no huge pages left")
	}
	if len(out) == 0 {
		out = append(out, "none: nothing of it is in memory")
	}
	return out
}

// CollapseLine says in a line what one look of --watch did.
func CollapseLine(o result.CollapseOutcome) string {
	parts := []string{fmt.Sprintf("%s collapsed in %s", unit.Size(o.Bytes), unit.Plural(o.Collapsed, "window"))}
	for _, word := range slices.Sorted(maps.Keys(o.Refused)) {
		parts = append(parts, fmt.Sprintf("%d refused: %s", o.Refused[word], word))
	}
	if o.Filled > 0 {
		parts = append(parts, unit.Size(o.Filled)+" of memory more")
	}
	return strings.Join(parts, ", ")
}
