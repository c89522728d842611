package document

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
)

// abSection is what folio ab found: programs compared within rounds.
func abSection(f *result.AB) *Section {
	s := &Section{Kicker: "folio ab", Code: true, Notes: f.Notes}
	var names []string
	for _, a := range f.Arms {
		names = append(names, a.Line())
	}
	s.Heading = strings.Join(names, " -- ")
	if !slices.ContainsFunc(f.Arms, func(a result.ABArm) bool { return a.Source != nil }) {
		s.Heading = "folio ab -- " + s.Heading
	}
	if slices.ContainsFunc(f.Arms, func(a result.ABArm) bool { return a.Name != a.Line() }) {
		s.First = []*Table{abPrograms(f)}
	}
	s.About = append(s.About, limits(f.Limits())...)
	if set := f.Setting.Trial(); !set.IsZero() {
		s.About = append(s.About, set.String())
	}
	if len(report.LoadedAB(f)) > 0 {
		s.About = append(s.About, "under load: "+report.Requests(f.Arms[0].Program.Requests))
	}
	if f.Result == nil || len(f.Result.Comparisons) == 0 {
		s.Answers = []Answer{{Main: true, Text: "Nothing was compared."}}
		return s
	}
	for i := range f.Result.Gates {
		g := &f.Result.Gates[i]
		bound, verdict, why := report.ABGate(f, g)
		s.Answers = append(s.Answers, Answer{Goal: upper(verdict), Text: bound + ": " + why + ".",
			Bad: g.Verdict == result.VerdictBeyond, Good: g.Verdict == result.VerdictWithin})
	}
	for i := range f.Result.Comparisons {
		c := &f.Result.Comparisons[i]
		versus := f.Arms[c.Arm].Name + " against " + f.Arms[0].Name
		found := report.ABFound(c)
		for j := range c.Figures {
			if x := &c.Figures[j]; x.Primary {
				a := abAnswer(x, versus)
				if found != "" {
					a.Text = strings.TrimSuffix(a.Text, ".") + "; " + found + "."
					found = ""
				}
				s.Answers = append(s.Answers, a)
			}
		}
		s.Blocks = append(s.Blocks, abCompared(c, versus))
		if c.Profile != nil {
			s.Blocks = append(s.Blocks, abProfile(c.Profile, versus))
		}
	}
	if b := loadBlock(report.LoadedAB(f)); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	s.Blocks = append(s.Blocks, abDetail(f)...)
	s.Answers[0].Main = true
	s.Answers[0].Sure = report.ABEnd(f) + "."
	if b := abRuns(f); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	return s
}

// abPrograms lists what is compared, a program a row.
func abPrograms(f *result.AB) *Table {
	t := &Table{Wrap: true, Head: []Column{{Label: "program"}, {Label: "command"}, {Label: "built with"}}}
	for _, p := range report.TitleAB(f) {
		t.Rows = append(t.Rows, Row{Cells: []Cell{plain(p[0]), code(p[1]), plain(p[2])}})
	}
	t.dropEmpty()
	return t
}

// abDetail are the programs by call path and over time.
func abDetail(f *result.AB) (out []*Block) {
	var paths []called
	var over []timed
	for i := range f.Arms {
		a := &f.Arms[i]
		paths = append(paths, called{a.Name, a.Profile, a.Tree})
		if x, ok := timedOf(a.Name, a.Samples); ok {
			over = append(over, x)
		}
	}
	if b := callsBlock(paths); b != nil {
		out = append(out, b)
	}
	if len(over) > 0 {
		out = append(out, timeline(over))
	}
	return out
}

// abAnswer says what a figure that decides differs in.
func abAnswer(x *result.ABFigure, versus string) Answer {
	a := Answer{Goal: versus, Text: report.ABSentence(x) + "."}
	better, different := x.Better()
	if different {
		a.Figure, _ = report.ABDifference(x)
	}
	a.Good, a.Bad = different && better, different && !better
	return a
}

// abCompared shows the figures of an arm.
func abCompared(c *result.ABComparison, versus string) *Block {
	b := &Block{Key: true, Title: versus}
	if len(c.Figures) == 0 {
		b.Words = []string{upper(report.ABNoRound) + "."}
		return b
	}
	if ch := abRatios(c); len(ch.Y.Categories) > 0 {
		b.Charts = []*Chart{ch}
	}
	b.Tables = []*Table{abFigures(c)}
	return b
}

// abRatios draws the differences from the base, of figures that have an interval of one.
func abRatios(c *result.ABComparison) *Chart {
	ch := &Chart{Kind: Bars, Title: "Difference from the base", X: Axis{Label: "more or less than the base", Format: Percent},
		Caption: "Lines are 95% intervals. Hollow, ~: no difference found."}
	s := Series{Name: "difference", Color: 1}
	for i := range c.Figures {
		x := &c.Figures[i]
		if x.Ratio == nil || x.RatioLo == nil || x.RatioHi == nil || !report.ABShown(x) {
			continue
		}
		diff, interval := abDifference(x)
		label := report.ABLabelIn(c, x.Key)
		if x.Primary {
			label += " (decides)"
		}
		s.P = append(s.P, Point{X: *x.Ratio - 1, Y: float64(len(ch.Y.Categories)), XLo: new(*x.RatioLo - 1), XHi: new(*x.RatioHi - 1),
			Name: label, Text: diff, Ref: !x.Different,
			Tip: [][2]string{{"base", report.ABValue(x, x.Base)}, {"this", report.ABValue(x, x.Value)},
				{"difference", diff}, {"95% interval", interval}, {"rounds", itoa(x.N)}}})
		ch.Y.Categories = append(ch.Y.Categories, label)
	}
	ch.Series = []Series{s}
	return ch
}

// abDifference is [report.ABDifference], with ~ where none was found.
func abDifference(x *result.ABFigure) (diff, interval string) {
	diff, interval = report.ABDifference(x)
	switch {
	case x.Different:
	case interval == "":
		diff = report.TooFew
	default:
		diff = "~"
	}
	return diff, interval
}

func abFigures(c *result.ABComparison) *Table {
	t := &Table{Caption: "base, this: medians of all rounds; difference: median of those within the rounds, so adjusted for drift, with simultaneous 95% intervals; ~: not significant",
		Head: drop(cols("figure", "base", "this", "difference", "95% interval", "rounds"), "rounds", "95% interval")}
	for i := range c.Figures {
		x := &c.Figures[i]
		if !report.ABListed(c, x) {
			continue
		}
		diff, interval := abDifference(x)
		t.Rows = append(t.Rows, Row{Mark: x.Primary, Minor: !report.ABShown(x), Cells: []Cell{
			plain(report.ABLabelIn(c, x.Key)), num(report.ABValue(x, x.Base), x.Base), num(report.ABValue(x, x.Value), x.Value),
			num(diff, x.Difference), plain(interval), num(itoa(x.N), float64(x.N)),
		}})
	}
	return t
}

// abProfile shows what differs in where the CPU time goes.
func abProfile(p *result.ABProfile, versus string) *Block {
	b := &Block{Title: "CPU time, " + versus, Words: []string{formatf("CPU time per run, of %d rounds in which the CPU was sampled.", p.N)}}
	ch := &Chart{Kind: Bars, Title: "CPU time by class", X: Axis{Label: "CPU time per run", Format: Seconds, Zero: true}}
	base, this := Series{Name: "base"}, Series{Name: "this", Color: 1, Shape: 1}
	t := &Table{Caption: "By class; ~: no difference found", Head: drop(cols("class", "base", "this", "difference", "95% interval"), "95% interval")}
	for _, c := range report.ABClasses(p) {
		cells := report.ABClassCells(&c)
		at := float64(len(ch.Y.Categories))
		ch.Y.Categories = append(ch.Y.Categories, cells[0])
		tip := [][2]string{{"base", cells[1]}, {"this", cells[2]}, {"difference", cells[3]}, {"95% interval", cells[4]}}
		base.P = append(base.P, Point{X: c.Base, Y: at, Name: cells[0], Text: cells[1], Tip: tip})
		this.P = append(this.P, Point{X: c.Seconds, Y: at, Name: cells[0], Text: cells[2], Tip: tip})
		t.Rows = append(t.Rows, Row{Cells: []Cell{plain(cells[0]), num(cells[1], c.Base), num(cells[2], c.Seconds),
			num(cells[3], c.Difference), plain(cells[4])}})
	}
	ch.Series = []Series{base, this}
	b.Charts, b.Tables = append(b.Charts, ch), append(b.Tables, t)
	if sites := report.ABSites(p); len(sites) > 0 {
		t := &Table{Caption: "Memory work by function, where it differs by more than sampling does",
			Head: cols("function", "base", "this", "difference")}
		for _, s := range sites {
			cells := report.ABSiteCells(&s)
			t.Rows = append(t.Rows, Row{Cells: []Cell{code(cells[0]), plain(cells[1]), plain(cells[2]), num(cells[3], s.Difference)}})
		}
		b.Tables = append(b.Tables, t)
	}
	return b
}
