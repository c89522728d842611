package document

import (
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/compare"
	"github.com/foliomem/folio/internal/base/unit"
)

// beside shows several results together: what differs between the first and each
// other one, and their charts in one.
func beside(results []*result.Result, opts *compare.Options) *Section {
	s := &Section{Kicker: "folio report", Heading: formatf("%d results side by side", len(results))}
	if len(results) == 2 {
		s.Kicker, s.Heading = "folio compare", results[1].Name+" against "+results[0].Name
	}
	var others []string // of another kind, where there are many
	for i, r := range results[1:] {
		b := &Block{Title: r.Name + " against " + results[0].Name}
		if r.Name == results[0].Name {
			b.Title = formatf("Number %d, %s, against the first", i+2, r.Name)
		}
		a := Answer{Goal: b.Title, Main: len(results) == 2}
		c, err := compared(results[0], r, opts)
		if err != nil && len(results) > 2 && r.Header().Kind != results[0].Header().Kind {
			others = append(others, formatf("%s (%s)", r.Name, r.Header().Kind))
			continue
		}
		if err != nil {
			a.Text = "Not compared: " + err.Error() + "."
			s.Answers = append(s.Answers, a)
			continue
		}
		s.compared(c, a, b)
	}
	if len(others) > 0 {
		s.Verdict = formatf("Different kinds, not compared with %s (%s): %s.", results[0].Name, results[0].Header().Kind, join(others))
	}
	s.Blocks = append(together(results), s.Blocks...)
	s.Blocks = append(s.Blocks, &Block{Title: "Where they are from", Tables: []*Table{hostsTable(results)}})
	return s
}

// compared adds a comparison: what differs beside the figures above all, its answer, and
// its tables to a block.
func (s *Section) compared(c *compare.Comparison, a Answer, b *Block) {
	summary(c, &a)
	s.Answers = append(s.Answers, a)
	b.Tables = tables(c)
	switch t := differences(c, a.Goal); {
	case t == nil:
	case len(t.Rows) == 1 && len(c.Differs) == 1 && c.Differs[0].What == compare.Measured:
		b.Tables = append(b.Tables, t) // two results always differ in that
	default:
		s.First = append(s.First, t)
	}
	s.Blocks = append(s.Blocks, b)
	if len(c.Unsaid) > 0 {
		s.Notes = append(s.Notes, leftOut(c))
	}
}

// NewComparison returns the document of a comparison of which a side is in the Go benchmark
// format, and so no result; results are those that are.
func NewComparison(c *compare.Comparison, results ...*result.Result) *Document {
	s := &Section{Kicker: "folio compare", Heading: c.New + " against " + c.Old}
	b := &Block{Title: "Figures", Key: true}
	s.compared(c, Answer{Main: true}, b)
	s.Notes = append(s.Notes, c.Notes.Texts()...)
	for _, t := range c.Tables {
		b.Charts = append(b.Charts, bothBars(c, t))
	}
	p := &Document{Title: "folio compare: " + s.Heading, Sections: []*Section{s}, Nav: len(results) > 0, Foot: foot}
	for _, r := range results {
		p.Sections = append(p.Sections, section(r))
	}
	return p.finish()
}

func leftOut(c *compare.Comparison) string {
	return "Left out of both (--redact), and so not compared: " + join(c.Unsaid) + "."
}

// bothBars draws the medians of both sides, with their intervals.
func bothBars(c *compare.Comparison, t compare.Table) *Chart {
	format := compare.Format(t.Unit)
	ch := &Chart{Kind: Bars, Title: t.Label(), Caption: upper(better(t)) + ". " + compare.NotInterleaved,
		X: Axis{Label: t.Label(), Format: unitFormat(t.Unit)}}
	sides := []Series{{Name: c.Old, Color: 1}, {Name: c.New, Color: 2, Shape: 1}}
	if c.Old == c.New {
		sides[0].Name, sides[1].Name = "first", "second"
	}
	least, most := math.Inf(1), 0.0
	for i, r := range t.Rows {
		ch.Y.Categories = append(ch.Y.Categories, r.Name)
		for j, s := range []stat.Summary{r.Old, r.New} {
			p := Point{X: s.Median, Y: float64(i), Name: r.Name, Text: format(s.Median),
				Tip: [][2]string{{sides[j].Name, format(s.Median) + spread(s)}, {"runs", itoa(s.N)}}}
			if s.HasInterval {
				p.XLo, p.XHi = &s.Lo, &s.Hi
			}
			if s.Median > 0 {
				least, most = min(least, s.Median), max(most, s.Median)
			}
			sides[j].P = append(sides[j].P, p)
		}
	}
	if most > 20*least {
		ch.X.Scale = Log
	}
	ch.Series = sides
	return ch
}

// unitFormat is the format of an axis for a unit.
func unitFormat(unit string) string {
	switch k := figure.KindOfUnit(unit); k {
	case figure.Seconds, figure.Bytes, figure.Share:
		return string(k)
	}
	return Count
}

// better says which values of a table are.
func better(t compare.Table) string {
	if t.Higher {
		return "more is better"
	}
	return "less is better"
}

// differences lists what two results differ in beside their figures; nil for nothing. Where a
// page has several comparisons, of names this one.
func differences(c *compare.Comparison, of string) *Table {
	caption := "What else differs"
	if of != "" {
		caption = of + ": what else differs"
	}
	t := &Table{Caption: caption, Wrap: true, Head: []Column{{Label: "what"}, {Label: c.Old}, {Label: c.New}}}
	if c.Old == c.New {
		t.Head[1].Label, t.Head[2].Label = "first", "second"
	}
	for _, d := range c.Differs {
		t.Rows = append(t.Rows, Row{Cells: []Cell{plain(d.What), code(d.Old), code(d.New)}})
	}
	for _, x := range []struct {
		what     []string
		old, new string
	}{{c.OnlyOldSays, "", "not stated"}, {c.OnlyNewSays, "not stated", ""}} {
		if len(x.what) > 0 {
			t.Rows = append(t.Rows, Row{Cells: []Cell{plain(join(x.what)), plain(x.old), plain(x.new)}})
		}
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

func compared(a, b *result.Result, opts *compare.Options) (*compare.Comparison, error) {
	x, err := compare.NewSet(a)
	if err != nil {
		return nil, err
	}
	y, err := compare.NewSet(b)
	if err != nil {
		return nil, err
	}
	return compare.Compare(x, y, opts)
}

// summary says in a sentence how two results differ.
func summary(c *compare.Comparison, a *Answer) {
	if c.Doctor {
		a.Text = formatf("Findings: %d new, %d gone, %d in both.", len(c.Found), len(c.Gone), len(c.Still))
		a.Figure = formatf("%+d", len(c.Found)-len(c.Gone))
		return
	}
	t, r, ok := c.Headline()
	if !ok {
		a.Text = "They have no figure in common that is shown."
		return
	}
	// The difference stands in the sentence, never alone: large, it would read as a win.
	format := compare.Format(t.Unit)
	values := formatf("%s, %s: from %s to %s", r.Name, t.Label(), format(r.Old.Median), format(r.New.Median))
	delta := r.Delta()
	if r.Unknown() {
		more := " (--count 10)"
		if r.Partial {
			more = ""
		}
		a.Text, a.Sure = values+".", formatf("%s%s. %s", upper(r.Why()), more, compare.NotInterleaved)
		return
	}
	if r.Once {
		a.Text, a.Sure = formatf("%s (%s).", values, delta), "One look each: no test can say what of it is chance."
		return
	}
	if delta == "~" {
		values += ", not measurably different"
	} else {
		values += formatf(" (%s)", delta)
	}
	differ, same := 0, 0
	for _, t := range c.Tables {
		for _, r := range t.Rows {
			if r.Test.Different && !r.Unknown() {
				differ++
			} else {
				same++
			}
		}
	}
	a.Text = formatf("%s. %d of %s differ measurably.", values, differ, unit.Plural(differ+same, "common figure"))
	a.Sure = compare.NotInterleaved + formatf(" p = %.2g (Mann-Whitney at 0.05), %d and %s; of many figures, one in twenty differs by chance. "+
		"To know which is better, run folio ab, which interleaves both.", r.Test.P, r.Test.N1, unit.Plural(r.Test.N2, "run"))
}

// tables lists a comparison, a table for each unit.
func tables(c *compare.Comparison) []*Table {
	var out []*Table
	for _, t := range c.Tables {
		format := compare.Format(t.Unit)
		tb := &Table{Caption: t.Label() + ", " + better(t), Sort: true,
			Head: append(cols("", c.Old, "interval", c.New, "interval", "difference"), Column{Label: "p", Num: true},
				Column{Label: "runs", Num: true})}
		drop(tb.Head, "runs", "p", "interval")
		tb.Head[0].Label = "what"
		if c.Old == c.New {
			tb.Head[1].Label, tb.Head[3].Label = "first", "second"
		}
		for _, r := range t.Rows {
			p := num(formatf("%.3f", r.Test.P), r.Test.P)
			switch {
			case r.Unknown():
				p = plain(r.Why())
			case r.Once:
				p = plain("one look each")
			}
			name := r.Name
			if c.Flat() {
				name = t.Label()
			}
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{
				code(name), num(format(r.Old.Median), r.Old.Median), plain(r.Old.SpreadText()),
				num(format(r.New.Median), r.New.Median), plain(r.New.SpreadText()),
				num(r.Delta(), r.Test.Ratio), p, plain(formatf("%d, %d", r.Test.N1, r.Test.N2)),
			}})
		}
		if t.Mean > 0 {
			cells := make([]Cell, len(tb.Head))
			cells[0], cells[5] = plain("geometric mean"), num(unit.Change(t.Mean), t.Mean)
			tb.Rows = append(tb.Rows, Row{Mark: true, Cells: cells})
		}
		if c.Flat() && len(out) > 0 {
			out[0].Rows = append(out[0].Rows, tb.Rows...)
			continue
		}
		if c.Flat() {
			tb.Caption = t.Rows[0].Name
		}
		out = append(out, tb)
	}
	for _, l := range []struct {
		title string
		items []string
	}{{"Only in the first", c.OnlyOld}, {"Only in the second", c.OnlyNew}, {"Found in the second only", c.Found},
		{"Found in the first only", c.Gone}, {"Found in both", c.Still}} {
		if len(l.items) == 0 {
			continue
		}
		tb := &Table{Caption: l.title, Wrap: true, Head: []Column{{Label: "what"}}}
		for _, i := range l.items {
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(i)}})
		}
		out = append(out, tb)
	}
	return out
}

// together draws results of one kind in one chart.
func together(results []*result.Result) []*Block {
	var tuned, ran []*result.Result
	labs := make(map[string][]*Chart)
	var order []string
	for _, r := range results {
		switch f := r.Of.(type) {
		case *result.File:
			switch {
			case len(f.Arms) == 0:
			case f.Kind == result.KindTune:
				tuned = append(tuned, r)
			case f.Kind == result.KindRun:
				ran = append(ran, r)
			}
		case *result.Lab:
			for i := range f.Experiments {
				e := &f.Experiments[i]
				l := labOf(e)
				if len(l.ran) == 0 || !slices.ContainsFunc(l.ran, func(a *result.LabArm) bool { return len(a.Points) > 1 }) {
					continue
				}
				c := l.curve(e.Figure, e.Name)
				for j := range c.Series {
					c.Series[j].Name = formatf("%s (%s)", c.Series[j].Name, r.Name)
					c.Series[j].Dash = len(labs[e.Name]) > 0
				}
				if labs[e.Name] == nil {
					order = append(order, e.Name)
				}
				labs[e.Name] = append(labs[e.Name], c)
			}
		}
	}
	all := &Block{Title: "All in one picture"}
	if len(tuned) > 1 && sameMetric(tuned) {
		all.Charts = append(all.Charts, tunedTogether(tuned))
	}
	for _, name := range order {
		if of := labs[name]; len(of) > 1 {
			c := of[0]
			for _, o := range of[1:] {
				c.Series = append(c.Series, o.Series...)
			}
			c.Caption, c.Below = "Dashed: all but the first file.", true
			all.Charts = append(all.Charts, c)
		}
	}
	var out []*Block
	if len(all.Charts) > 0 {
		out = append(out, all)
	}
	if len(ran) > 1 && sameMetric(ran) {
		if b := ranTogether(ran); b != nil {
			out = append(out, b)
		}
	}
	if len(ran) > 1 {
		out = append(out, inDetail(ran)...)
	}
	return out
}

func sameMetric(results []*result.Result) bool {
	first := targetOf(results[0].Program())
	return !slices.ContainsFunc(results, func(r *result.Result) bool {
		t := targetOf(r.Program())
		return t.spec.Name != first.spec.Name || t.spec.Higher != first.spec.Higher
	})
}

// tunedTogether is the picture of several searches: a color and shape each.
func tunedTogether(results []*result.Result) *Chart {
	of := targetOf(results[0].Program())
	c := &Chart{
		Kind: XY, Below: true, Title: formatf("%s against peak RSS", of.label()),
		Caption: "A color and a shape for each file; large: its default and what is recommended.",
		X:       Axis{Label: "peak RSS of all processes", Scale: Log2, Format: Bytes}, Y: of.axis(),
		Hint: "Click a point to copy the command line with its setting.",
	}
	for i, r := range results {
		t := newTuned(r.Program())
		s := Series{Name: formatf("%s: %s", r.Name, result.ShellLine(r.Program().Program.Command)), Color: 1 + i%6, Shape: i}
		for j := range t.arms {
			a := &t.arms[j]
			if !a.placed {
				continue
			}
			p := t.point(a, nil, nil)
			if p.Text = t.named(a); p.Text == "" && j == 0 {
				p.Text = "default"
			}
			if p.Text != "" { // each file has a default, and a best
				p.Text, p.Big = r.Name+": "+p.Text, true
			}
			s.P = append(s.P, p)
		}
		if len(s.P) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return c
}

// hostsTable lists where results are from, with what differs.
func hostsTable(results []*result.Result) *Table {
	tb := &Table{Caption: "Machines and times", Wrap: true,
		Head: []Column{{Label: "file"}, {Label: "kind"}, {Label: "folio"}, {Label: "when"}, {Label: "machine"}}}
	for _, r := range results {
		row := Row{Cells: []Cell{code(r.Name)}}
		head, where := r.Header(), "not in the file"
		if h := r.Host(); h != nil {
			where = join(machine(*h))
		}
		row.Cells = append(row.Cells, plain(head.Kind), plain(head.Folio), plain(head.Created.UTC().Format("2 Jan 2006 15:04")), plain(where))
		tb.Rows = append(tb.Rows, row)
	}
	return tb
}
