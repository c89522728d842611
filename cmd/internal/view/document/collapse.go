package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// collapseSection is what became of a process whose memory was put on huge pages.
func collapseSection(f *result.Collapse) *Section {
	s := &Section{Kicker: "folio collapse", Heading: formatf("process %d, %s", f.PID, report.Command(f.Command, f.Name)), Notes: f.Notes}
	about := "the Go heap"
	if f.All {
		about = "all anonymous memory"
	}
	if f.GoVersion != nil {
		s.About = append(s.About, *f.GoVersion)
	}
	s.About = append(s.About, about)
	s.Answers = []Answer{collapsed(f)}
	window := uint64(0)
	if f.Before != nil && f.Before.Windows != nil {
		window = f.Before.Windows.Size
	}
	s.Blocks = []*Block{{Key: true, Tables: []*Table{states(f)}},
		{Key: true, Title: formatf("Windows, %s each", unit.Size(window)), Tables: []*Table{outcomes(f)}}}
	return s
}

// collapsed says what was done, or would be.
func collapsed(f *result.Collapse) Answer {
	a := Answer{Main: true, Figure: unit.Size(f.Bytes)}
	switch {
	case f.Windows.Collapsed == 0 && f.DryRun:
		return Answer{Main: true, Text: "Nothing to do."}
	case f.Windows.Collapsed == 0:
		return Answer{Main: true, Text: "Nothing was put on huge pages."}
	case f.DryRun:
		a.Line = f.Line()
		if f.GainsLittle() {
			a.Sure = upper(result.LittleGain) + "."
		}
		a.Text = formatf("would be put on huge pages, which takes %s more memory", unit.Size(f.Filled))
		if f.Rate != nil && *f.Rate > 0 {
			a.Text += formatf(", in %s at %s/s", unit.Seconds(float64(f.Bytes)/float64(*f.Rate)), unit.Size(*f.Rate))
		}
	default:
		a.Text = "put on huge pages, in " + unit.Seconds(f.Elapsed)
		if k := f.InKernel; k > 0 {
			a.Text += formatf(", %s of it in the kernel (%s/s)", unit.Seconds(k), unit.Bytes(float64(f.Bytes)/k))
		}
	}
	a.Text += "."
	return a
}

// states compares before and after.
func states(f *result.Collapse) *Table {
	t := &Table{Head: cols("figure", "before", "after")}
	cells := func(s *result.CollapseState) [4]Cell {
		out := [4]Cell{plain(unit.None), plain(unit.None), plain(unit.None), plain(unit.None)}
		if s == nil || s.Windows == nil {
			return out
		}
		out[0], out[1], out[2] = size(s.Resident), size(s.Windows.HugeSize), share(s.Windows.Coverage)
		if x := s.Faults; x != nil && x.Seconds > 0 {
			rate := float64(x.Minor+x.Major) / x.Seconds
			out[3] = num(unit.Count(rate), rate)
		}
		return out
	}
	before, after := cells(f.Before), cells(f.After)
	if f.DryRun {
		t.Head = cols("figure", "now")
	}
	for i, name := range []string{"RSS", "on huge pages", "share on huge pages", "faults/s"} {
		t.Rows = append(t.Rows, Row{Cells: []Cell{plain(name), before[i], after[i]}[:len(t.Head)]})
	}
	return t
}

// outcomes counts windows by outcome; those of nothing are left out.
func outcomes(f *result.Collapse) *Table {
	t := &Table{Head: []Column{{Label: "windows", Num: true}, {Label: "outcome"}}}
	add := func(n int, what string) {
		if n > 0 {
			t.Rows = append(t.Rows, Row{Cells: []Cell{num(unit.Count(float64(n)), float64(n)), plain(what)}})
		}
	}
	o := f.Windows
	if f.DryRun {
		t.Head[1].Label = "plan"
		add(o.Collapsed, "would be collapsed")
	} else {
		add(o.Collapsed, "collapsed")
	}
	add(o.Already, "huge already")
	add(o.Sparse, formatf("left alone: less than %.0f%% in memory", 100*f.MinDensity))
	add(o.OptedOut, "left alone: the program advised against huge pages there (MADV_NOHUGEPAGE)")
	if f.Budget != nil {
		add(o.OverBudget, "left alone: beyond --max-size "+unit.Size(*f.Budget))
	}
	if !f.DryRun {
		add(o.Released, "released by the program before their turn")
		for _, word := range slices.Sorted(maps.Keys(o.Refused)) {
			add(o.Refused[word], "refused by the kernel: "+word)
		}
		add(o.Deferred, "of these left for later: refused, or released by the program, a short while ago")
		add(o.NotTried, notTried(f))
	}
	if len(t.Rows) == 0 {
		t.Rows = []Row{{Cells: []Cell{plain("0"), plain("nothing of it is in memory")}}}
	}
	return t
}

func notTried(f *result.Collapse) string {
	switch {
	case f.Ended:
		return "not reached: the process ended"
	case f.Interrupted:
		return "not reached: interrupted"
	}
	return "not tried: the kernel has no huge pages left"
}

// CollapseLine says in a line what one look of --watch did.
func CollapseLine(o result.CollapseOutcome) string {
	parts := []string{formatf("%s collapsed in %s", unit.Size(o.Bytes), unit.Plural(o.Collapsed, "window"))}
	for _, word := range slices.Sorted(maps.Keys(o.Refused)) {
		parts = append(parts, formatf("%d refused: %s", o.Refused[word], word))
	}
	if o.Filled > 0 {
		parts = append(parts, unit.Size(o.Filled)+" of memory more")
	}
	return strings.Join(parts, ", ")
}
