package document

import (
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

func labSection(f *result.Lab) *Section {
	s := &Section{Kicker: "folio lab", Heading: "What pages, faults and returning memory to the OS cost here", Notes: slices.Clone(f.Notes)}
	s.About = append(limits(f.Limits),
		unit.Plural(len(f.Experiments), "experiment")+" in "+unit.ElapsedSeconds(f.ElapsedSeconds))
	if f.Quick {
		s.Notes = append([]string{"measured with --quick: less memory and fewer rounds, so direction only"}, s.Notes...)
	}
	if f.Seed != nil {
		s.About = append(s.About, formatf("seed %d", *f.Seed))
	}
	if f.Interrupted {
		s.About = append(s.About, "interrupted")
	}
	for i := range f.Experiments {
		e := &f.Experiments[i]
		if e.Parameters.Rounds == 0 && e.Error == nil && f.Interrupted {
			continue // it did not begin
		}
		alone := len(f.Experiments) == 1
		b := labBlock(e, alone)
		s.Blocks = append(s.Blocks, b)
		if e.Error != nil {
			s.Notes = append(s.Notes, e.Name+": "+strings.TrimPrefix(*e.Error, e.Name+": "))
		}
		for _, n := range e.Notes {
			if text := e.Name + ": " + n; !slices.Contains(s.Notes, text) {
				s.Notes = append(s.Notes, text)
			}
		}
		a := Answer{Goal: e.Name + ": " + e.Question, Main: alone,
			Sure: formatf("%s, %s", unit.Exact(e.Parameters.SizeBytes), unit.Plural(e.Parameters.Rounds, "round"))}
		if e.Parameters.Rounds < 6 {
			a.Sure += ": too few for an interval"
		}
		if len(e.Conclusions) > 0 {
			a.Text = strings.TrimSpace(e.Conclusions[0])
		} else {
			a.Text = "No answer: too little was measured."
		}
		if alone {
			for i, c := range e.Conclusions[min(1, len(e.Conclusions)):] {
				a.Detail = strings.TrimSpace(a.Detail + " " + strings.TrimSpace(c))
				if i < briefConclusions {
					a.Brief = a.Detail
				}
			}
			s.Answers = append(s.Answers, a)
		} else {
			b.Lead, b.Sure = a.Text, a.Sure // the list of contents has it, too
		}
	}
	return s
}

// briefConclusions is how many conclusions stand below the first one where not all is shown.
const briefConclusions = 3

// labBlock is an experiment: one chart, and folded away what else it found, its tables,
// what did not run, and what others measured. Of the only one the answer has what it found.
func labBlock(e *result.LabExperiment, alone bool) *Block {
	b := &Block{Key: true, Title: e.Name + ": " + e.Question}
	more, others := &Fold{}, &Fold{Title: "Measured by others, on other machines"}
	if len(e.Conclusions) > 0 && !alone {
		more.Words = slices.Clone(e.Conclusions[1:]) // the first one is above
		if len(more.Words) > 0 && IsDetail(more.Words[0]) {
			more.Words = slices.Clone(e.Conclusions) // a detail needs its sentence
		}
	}
	if e.Source != "" {
		others.Words = []string{"Known from elsewhere: " + e.Source}
	}
	l := labOf(e)
	if len(l.ran) > 0 {
		charts := l.draw(more, others)
		b.Charts, more.Charts = charts[:min(1, len(charts))], charts[min(1, len(charts)):]
		more.Tables = append(l.tables(), more.Tables...)
		for _, key := range e.Curves {
			if t := l.bySize(key, upper(l.figure(key).Label)); len(t.Rows) > 1 {
				more.Tables = append(more.Tables, t)
			}
		}
	}
	if tb := l.missing(); tb != nil {
		more.Tables = append(more.Tables, tb)
	}
	more.Title = more.holds()
	for _, f := range []*Fold{more, others} {
		if len(f.Words)+len(f.Charts)+len(f.Tables) > 0 {
			b.Folds = append(b.Folds, f)
		}
	}
	return b
}

// holds counts what is folded away.
func (f *Fold) holds() string {
	var parts []string
	for _, x := range []struct {
		n    int
		what string
	}{{len(f.Words), "finding"}, {len(f.Charts), "more chart"}, {len(f.Tables), "table"}} {
		if x.n > 0 {
			parts = append(parts, unit.Plural(x.n, x.what))
		}
	}
	return "Details: " + join(parts)
}

// A labView is an experiment and those of its arms that ran.
type labView struct {
	*result.LabExperiment
	ran []*result.LabArm
}

func labOf(e *result.LabExperiment) *labView {
	l := &labView{LabExperiment: e}
	for i := range e.Arms {
		if len(e.Arms[i].Points) > 0 {
			l.ran = append(l.ran, &e.Arms[i])
		}
	}
	return l
}

func (l *labView) figure(key string) result.LabFigure {
	for _, f := range l.Figures {
		if f.Key == key {
			return f
		}
	}
	return result.LabFigure{Key: key, Label: strings.ReplaceAll(key, "_", " ")}
}

// last is the point at the largest size.
func last(a *result.LabArm) result.LabPoint { return a.Points[len(a.Points)-1] }

// tables lists the arms at the largest size, a table for each group.
func (l *labView) tables() []*Table {
	if l.Across {
		return l.across()
	}
	var out []*Table
	base := l.named(l.Base)
	for _, a := range l.ran {
		i := slices.IndexFunc(out, func(t *Table) bool { return t.Caption == l.caption(a.Group) })
		if i < 0 {
			tb := &Table{Caption: l.caption(a.Group), Sort: true, Head: cols("arm")}
			for _, f := range l.Figures {
				tb.Head = append(tb.Head, Column{Label: f.Label, Num: true})
			}
			versus := Column{Num: true}
			if base != nil && len(l.Figures) > 0 {
				versus.Label = l.Figures[0].Label + " vs " + base.Name
			}
			tb.Head = drop(append(tb.Head, Column{Label: "interval of the first", Num: true}, versus, Column{Label: "runs", Num: true}),
				"runs", "interval of the first")
			out, i = append(out, tb), len(out)
		}
		row := Row{Cells: []Cell{code(a.Name)}}
		n, between := 0, ""
		for j, f := range l.Figures {
			v, ok := last(a).Figures[f.Key]
			if !ok {
				row.Cells = append(row.Cells, plain("-"))
				continue
			}
			n = max(n, v.N)
			if j == 0 && v.Lo != nil && v.Hi != nil {
				between = figure.KindOf(f.Key).Format(*v.Lo) + " to " + figure.KindOf(f.Key).Format(*v.Hi)
			}
			text := figure.KindOf(f.Key).Format(v.Median)
			if f.Key == "gogc" && v.Median < 0 {
				text = result.Off
			}
			row.Cells = append(row.Cells, num(text, v.Median))
		}
		differs := plain("")
		if len(l.Figures) > 0 {
			differs = against(a, l.Figures[0].Key)
		}
		row.Cells = append(row.Cells, plain(between), differs, num(itoa(n), float64(n)))
		out[i].Rows = append(out[i].Rows, row)
	}
	for _, tb := range out {
		tb.dropEmpty()
	}
	return out
}

func (l *labView) caption(group string) string {
	text := formatf("%s: medians at %s", l.Name, unit.Exact(l.Parameters.SizeBytes))
	if group != "" {
		text += "; " + group
	}
	return text
}

// missing lists the arms that did not run, with the reason.
func (l *labView) missing() *Table {
	tb := &Table{Caption: "Not run", Wrap: true, Head: []Column{{Label: "arm"}, {Label: "why"}}}
	for _, a := range l.Arms {
		if a.NotRun != nil {
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{code(a.Name), plain(*a.NotRun)}})
		}
	}
	if len(tb.Rows) == 0 {
		return nil
	}
	return tb
}

// draw returns the experiment's charts of this machine; their lists are added to more, and
// charts with what others published to others.
func (l *labView) draw(more, others *Fold) (out []*Chart) {
	for _, d := range l.Charts {
		d.Figures = slices.DeleteFunc(slices.Clone(d.Figures), func(key string) bool { return !l.measured(key) })
		c := l.chart(d)
		if c == nil {
			continue
		}
		if d.Caption != "" {
			c.Caption = d.Caption
		}
		if add := references[d.Reference]; add != nil {
			beside := l.chart(d)
			add(l, d, beside, others)
			others.Charts = append(others.Charts, beside)
		}
		out = append(out, c)
	}
	return out
}

// measured says whether an arm has a figure.
func (l *labView) measured(key string) bool {
	return slices.ContainsFunc(l.ran, func(a *result.LabArm) bool {
		_, ok := last(a).Figures[key]
		return ok
	})
}

// chart draws one of the experiment's charts, nil where it has nothing.
func (l *labView) chart(d result.LabChart) *Chart {
	if len(d.Figures) == 0 {
		return nil
	}
	var c *Chart
	switch d.Over {
	case result.OverArms:
		return l.bars(d.Title, d.Scale, d.Figures...)
	case result.OverSizes:
		c = l.curve(d.Figures[0], d.Title)
	case result.VariesGOGC, result.VariesGoroutines:
		c = l.varied(d)
	default:
		return nil
	}
	c.Y.Scale = d.Scale
	if d.Label != "" {
		c.Y.Label = d.Label
	}
	return c
}

func sizeText(v float64) string { return unit.Exact(uint64(v)) }

func interval(v result.Interval) (lo, hi *float64) {
	if v.Lo == nil || v.Hi == nil {
		return nil, nil
	}
	return v.Lo, v.Hi
}

// bars draws figures of all arms at the largest size, the figures beside one
// another.
func (l *labView) bars(title string, scale string, keys ...string) *Chart {
	c := &Chart{Kind: Bars, Title: title, X: Axis{Scale: scale, Format: axisFormat(keys[0])}}
	var names []string
	for i, key := range keys {
		f := l.figure(key)
		s := Series{Name: f.Label, Color: 1 + i%6, Shape: i}
		names = append(names, f.Label)
		for j, a := range l.ran {
			if i == 0 {
				c.Y.Categories = append(c.Y.Categories, a.Name)
			}
			v, ok := last(a).Figures[key]
			if !ok {
				continue
			}
			p := Point{X: v.Median, Y: float64(j), Name: a.Name, Text: figure.KindOf(key).Format(v.Median),
				Tip: [][2]string{{f.Label, figure.KindOf(key).Format(v.Median)}}}
			if p.XLo, p.XHi = interval(v); p.XLo != nil {
				p.Tip = append(p.Tip, [2]string{"95% interval", figure.KindOf(key).Format(*p.XLo) + " to " + figure.KindOf(key).Format(*p.XHi)})
			}
			p.Tip = append(p.Tip, [2]string{"runs", itoa(v.N)}, [2]string{"what it is", a.About})
			s.P = append(s.P, p)
		}
		c.Series = append(c.Series, s)
	}
	c.X.Label = strings.Join(names, ", ")
	return c
}

// curve draws a figure over sizes, a line for each arm.
func (l *labView) curve(key, title string) *Chart {
	f := l.figure(key)
	c := &Chart{Kind: XY, Title: title, X: Axis{Label: "memory", Scale: Log2, Format: Bytes},
		Y: Axis{Label: f.Label, Scale: Log, Format: axisFormat(key)}}
	for i, a := range l.ran {
		s := Series{Name: a.Name, Color: 1 + i%6, Shape: i, Line: true}
		for _, p := range a.Points {
			v, ok := p.Figures[key]
			if !ok || v.Median <= 0 {
				continue
			}
			pt := Point{X: float64(p.SizeBytes), Y: v.Median, Name: sizeText(float64(p.SizeBytes))}
			pt.YLo, pt.YHi = interval(v)
			for _, g := range l.Figures {
				if w, ok := p.Figures[g.Key]; ok {
					pt.Tip = append(pt.Tip, [2]string{g.Label, figure.KindOf(g.Key).Format(w.Median)})
				}
			}
			pt.Tip = append(pt.Tip, [2]string{"runs", itoa(v.N)})
			s.P = append(s.P, pt)
		}
		if len(s.P) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return c
}

// bySize lists a curve.
func (l *labView) bySize(key, title string) *Table {
	tb := &Table{Caption: title + ", by size", Head: []Column{{Label: "memory", Num: true}}}
	rows := make(map[uint64][]Cell)
	var sizes []uint64
	for i, a := range l.ran {
		tb.Head = append(tb.Head, Column{Label: a.Name, Num: true})
		for _, p := range a.Points {
			if _, ok := rows[p.SizeBytes]; !ok {
				sizes = append(sizes, p.SizeBytes)
				rows[p.SizeBytes] = make([]Cell, len(l.ran))
			}
			rows[p.SizeBytes][i] = plain("-")
			if v, ok := p.Figures[key]; ok {
				rows[p.SizeBytes][i] = num(figure.KindOf(key).Format(v.Median), v.Median)
			}
		}
	}
	slices.Sort(sizes)
	for _, size := range sizes {
		tb.Rows = append(tb.Rows, Row{Cells: append([]Cell{num(sizeText(float64(size)), float64(size))}, rows[size]...)})
	}
	return tb
}

// varied draws a figure over what arms vary, a line for each kind of work.
func (l *labView) varied(d result.LabChart) *Chart {
	key := d.Figures[0]
	c := &Chart{Kind: XY, Title: d.Title, X: Axis{Label: "GOGC", Scale: Log, Format: Count},
		Y: Axis{Label: l.figure(key).Label, Format: axisFormat(key)}}
	if d.Over == result.VariesGoroutines {
		c.X = Axis{Label: "goroutines", Scale: Log2, Format: Count}
	}
	var works []string
	for _, a := range l.ran {
		if !slices.Contains(works, a.Work) {
			works = append(works, a.Work)
		}
	}
	for i, work := range works {
		s := Series{Name: work, Color: 1 + i%6, Shape: i, Line: true}
		for _, a := range l.ran {
			if x := varies(a, d.Over); a.Work == work && x > 0 {
				s.P = l.add(s.P, a, x, key)
			}
		}
		c.Series = append(c.Series, s)
	}
	return c
}

// varies returns an arm's value of GOGC or number of goroutines; 0 where it varies
// something else, or is off.
func varies(a *result.LabArm, over string) float64 {
	switch set := a.Setting.Runtime; {
	case a.Varies != over:
	case over == result.VariesGoroutines:
		return float64(a.Goroutines)
	case set != nil && set.GOGC != nil:
		v, _ := strconv.ParseFloat(*set.GOGC, 64) // off is 0
		return v
	}
	return 0
}

// add appends the point of an arm.
func (l *labView) add(points []Point, a *result.LabArm, x float64, key string) []Point {
	v, ok := last(a).Figures[key]
	if !ok || v.Median <= 0 {
		return points
	}
	p := Point{X: x, Y: v.Median, Name: a.Name}
	p.YLo, p.YHi = interval(v)
	for _, f := range l.Figures {
		if w, ok := last(a).Figures[f.Key]; ok {
			p.Tip = append(p.Tip, [2]string{f.Label, figure.KindOf(f.Key).Format(w.Median)})
		}
	}
	return append(points, p)
}
