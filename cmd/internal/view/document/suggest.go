package document

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// suggestSection is what folio suggest says: where an arena would help.
func suggestSection(f *result.Suggest) *Section {
	s := &Section{Kicker: "folio suggest", Code: true, Notes: f.Notes}
	s.Heading = text(f.Profile)
	if len(f.Command) > 0 {
		s.Heading = result.ShellLine(f.Command)
	}
	cost := upper(report.CostWords(f.Cost)) + "."
	for i, sg := range f.Suggestions {
		s.Answers = append(s.Answers, suggested(sg, f.Cost, i == 0))
	}
	if len(f.Suggestions) == 0 {
		s.Answers = []Answer{{Main: true, Text: "Nothing to gain by an arena: " + text(f.Nothing) + ".", Sure: cost}}
		if len(f.Command) > 0 {
			s.Answers[0].Steps = []Step{{"See what its CPU time is spent on instead:", "folio run -- " + result.ShellLine(f.Command)}}
		}
	} else {
		s.Answers[0].Sure += " " + cost
	}
	b := &Block{Title: "What allocates", Charts: []*Chart{allocations(f)}, Tables: []*Table{sites(f)},
		Words: []string{formatf("%s in %s objects were allocated.", unit.Size(f.Total.AllocBytes), unit.Count(float64(f.Total.AllocObjects)))}}
	if len(b.Tables[0].Rows) == 0 {
		b.Charts, b.Tables = nil, nil
	}
	s.Blocks = append(s.Blocks, b)
	if c := allocated(f.Tree); c != nil && len(b.Tables) > 0 {
		b.Charts = append(b.Charts, c)
	}
	if len(f.Suggestions) > 0 {
		s.Blocks = append(s.Blocks, &Block{Title: "How", Words: slices.Clone(report.ArenaHow)})
	}
	return s
}

// suggested is a call site that would gain.
func suggested(sg result.Suggestion, c result.SuggestCost, main bool) Answer {
	a := Answer{Main: main, Goal: sg.Place(), Text: formatf("Take what %s makes from an arena.", sg.Func)}
	if sg.Low != nil && sg.High != nil {
		a.Figure = unit.Percent(*sg.Low) + " to " + unit.Percent(*sg.High)
		a.Text = formatf("of the CPU time would be saved if %s took this from an arena, by estimate.", sg.Func)
	}
	a.Sure = upper(strings.Join(report.SuggestionWords(sg, c), "; ")) + "."
	if sg.Source != nil {
		a.Steps = append(a.Steps, Step{Do: "In place of: " + *sg.Source})
	}
	a.Steps = append(a.Steps, Step{Do: "Try:", Code: sg.Sketch})
	return a
}

// allocations draws the share of each call site.
func allocations(f *result.Suggest) *Chart {
	c := &Chart{Kind: Bars, Title: "Share of all bytes, by call site", X: Axis{Label: "of all bytes that were allocated", Format: Percent}}
	gain, other := Series{Name: "an arena would help", Color: 1}, Series{Name: "not for an arena", Color: 0}
	add := func(to *Series, s result.CallSite, more ...[2]string) {
		y := float64(len(c.Y.Categories))
		c.Y.Categories = append(c.Y.Categories, s.Place())
		tip := append([][2]string{{"bytes", unit.Size(s.AllocBytes)}, {"objects", unit.Count(float64(s.AllocObjects))}}, more...)
		to.P = append(to.P, Point{X: s.Share, Y: y, Name: s.Func, Text: unit.Percent(s.Share), Tip: tip})
	}
	for _, sg := range f.Suggestions {
		add(&gain, sg.CallSite)
	}
	for _, o := range f.Others {
		add(&other, o.CallSite, [2]string{"why not", o.Why})
	}
	for _, s := range []Series{gain, other} {
		if len(s.P) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return c
}

// sites lists all call sites.
func sites(f *result.Suggest) *Table {
	tb := &Table{Caption: "Call sites" + HeadingsSort + ". In use: the part that was in use at the end.", Sort: true,
		Head: cols("place", "of all bytes", "bytes", "objects", "in use", "GC", "gain at least", "at most")}
	tb.Head = drop(append(tb.Head, Column{Label: "function"}, Column{Label: "not for an arena because"}),
		"objects", "in use", "bytes", "GC", "not for an arena because", "function")
	part := func(v *float64) Cell {
		if v == nil {
			return plain("-")
		}
		return num(unit.Percent(*v), *v)
	}
	add := func(s result.CallSite, cells ...Cell) {
		row := []Cell{code(s.Place()), num(unit.Percent(s.Share), s.Share),
			num(unit.Size(s.AllocBytes), float64(s.AllocBytes)), num(unit.Count(float64(s.AllocObjects)), float64(s.AllocObjects))}
		tb.Rows = append(tb.Rows, Row{Cells: append(row, cells...)})
	}
	for _, s := range f.Suggestions {
		add(s.CallSite, part(&s.Kept), part(s.GC), part(s.Low), part(s.High), code(s.Func), plain(""))
		tb.Rows[len(tb.Rows)-1].Mark = true
	}
	for _, o := range f.Others {
		kept := plain("-")
		if o.AllocBytes > 0 {
			share := float64(o.InuseBytes) / float64(o.AllocBytes)
			kept = part(&share)
		}
		add(o.CallSite, kept, plain("-"), plain("-"), plain("-"), code(o.Func), plain(o.Why))
	}
	tb.dropEmpty()
	return tb
}
