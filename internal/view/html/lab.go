package html

import (
	"slices"
	"strconv"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/result/figure"
)

func labSection(f *result.Lab) *Section {
	s := &Section{Kicker: "folio lab", Heading: "What pages, faults and returning memory to the OS cost here", Notes: slices.Clone(f.Notes)}
	s.About = append(machine(f.Host), f.Created.UTC().Format("2 Jan 2006 15:04 UTC"),
		unit.Plural(len(f.Experiments), "experiment")+" in "+unit.ElapsedSeconds(f.ElapsedSeconds))
	if f.Quick {
		s.Notes = append([]string{"measured with --quick: less memory and fewer rounds, so direction only"}, s.Notes...)
	}
	for i := range f.Experiments {
		e := &f.Experiments[i]
		s.Blocks = append(s.Blocks, labBlock(e)...)
		if e.Error != nil {
			s.Notes = append(s.Notes, e.Name+": "+*e.Error)
		}
		for _, n := range e.Notes {
			if text := e.Name + ": " + n; !slices.Contains(s.Notes, text) {
				s.Notes = append(s.Notes, text)
			}
		}
		a := Answer{Goal: e.Name + ": " + e.Question, Main: len(f.Experiments) == 1,
			Sure: formatf("%s, %s", unit.Exact(e.Parameters.SizeBytes), unit.Plural(e.Parameters.Rounds, "round"))}
		if e.Parameters.Rounds < 6 {
			a.Sure += ": too few for an interval"
		}
		if len(e.Conclusions) > 0 {
			a.Text = strings.TrimSpace(e.Conclusions[0])
		} else {
			a.Text = "No answer: too little was measured."
		}
		s.Answers = append(s.Answers, a)
	}
	return s
}

// labBlock is an experiment: what it means, its charts, its tables, what did
// not run.
func labBlock(e *result.LabExperiment) []*Block {
	b := &Block{Title: e.Name + ": " + e.Question}
	if len(e.Conclusions) > 0 {
		b.Words = slices.Clone(e.Conclusions[1:]) // the first one is above
		if len(b.Words) > 0 && isDetail(b.Words[0]) {
			b.Words = slices.Clone(e.Conclusions) // a detail needs its sentence
		}
	}
	if e.Source != "" {
		b.Words = append(b.Words, "Known from elsewhere: "+e.Source)
	}
	l := labOf(e)
	if len(l.ran) > 0 {
		l.draw(b)
		b.Tables = append(l.tables(), b.Tables...)
	}
	if tb := l.missing(); tb != nil {
		b.Tables = append(b.Tables, tb)
	}
	return []*Block{b}
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
	var out []*Table
	for _, a := range l.ran {
		i := slices.IndexFunc(out, func(t *Table) bool { return t.Caption == l.caption(a.Group) })
		if i < 0 {
			tb := &Table{Caption: l.caption(a.Group), Sort: true, Head: cols("arm")}
			for _, f := range l.Figures {
				tb.Head = append(tb.Head, Column{Label: f.Label, Num: true})
			}
			tb.Head = append(tb.Head, Column{Label: "interval of the first", Num: true}, Column{Label: "runs", Num: true})
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
		row.Cells = append(row.Cells, plain(between), num(itoa(n), float64(n)))
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

// draw adds the charts that the experiment's source draws.
func (l *labView) draw(b *Block) {
	switch {
	case l.Name == "pages":
		l.drawPages(b)
	case l.Name == "faults":
		c := l.curve("total_seconds", "Time to write to fresh memory")
		c.Y.Label = "time in all"
		l.beside(b, c, sourceFaults, unit.Seconds)
	case l.Name == "madvise":
		b.Charts = append(b.Charts, l.curve("cycle_seconds", "Returning memory to the OS and using it again, for each base page"))
		l.beside(b, l.curve("other_seconds", "Meanwhile, the first write to other memory, for each base page"), sourceMadvise, unit.Seconds)
	case l.Name == "gogc":
		l.drawGOGC(b)
	case strings.HasPrefix(l.Name, "arenas"):
		l.drawArenas(b)
	default:
		l.drawBars(b)
	}
}

func sizeText(v float64) string { return unit.Exact(uint64(v)) }

func interval(v result.Interval) (lo, hi *float64) {
	if v.Lo == nil || v.Hi == nil {
		return nil, nil
	}
	return v.Lo, v.Hi
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

// beside adds a chart with the figures of its source.
func (l *labView) beside(b *Block, c *Chart, src source, format func(float64) string) {
	c.Caption = src.caption()
	c.Series = append(c.Series, src.draw(format, sizeText)...)
	b.Charts = append(b.Charts, c)
	b.Tables = append(b.Tables, src.table("memory", "time", sizeText, format))
}

// drawPages marks how far the translation buffers of the source's example reach.
func (l *labView) drawPages(b *Block) {
	lines := []Line{
		{zen4L1 * smallPage, "L1 TLB, 4 KiB pages"}, {zen4L2 * smallPage, "L2 TLB, 4 KiB"},
		{zen4L1 * bigOne, "L1 TLB, 2 MiB"}, {zen4L2 * bigOne, "L2 TLB, 2 MiB"},
	}
	note := formatf("Upright: how far the %d and %d entries of an AMD Zen 4 reach, the example of %s; this processor's may reach further or less far.", zen4L1, zen4L2, sourcePages.name)
	for _, x := range []struct{ key, title string }{
		{"latency_seconds", "Dependent reads: each waits for the one before"},
		{"throughput_seconds", "Independent reads: several under way"},
	} {
		c := l.curve(x.key, x.title)
		c.Y.Label = "time for each read"
		c.Lines, c.Caption = lines, note
		if x.key == "throughput_seconds" {
			if ref, ok := l.sourceGains(x.key); ok {
				c.Series = append(c.Series, ref)
				c.Caption += " Hollow: " + ref.Name + "."
			} else {
				c.Caption += formatf(" From another machine (%s): at 4 GiB, 2MiB pages are %s as fast as base pages, 1GiB pages %s.",
					sourcePages.machine, unit.Ratio(sourceTHPGain), unit.Ratio(sourceGiBGain))
			}
		}
		b.Charts = append(b.Charts, c)
		b.Tables = append(b.Tables, l.bySize(x.key, x.title))
	}
}

// sourceGains puts the source's ratios, which are of reads of 4 GiB, on what base
// pages take here.
func (l *labView) sourceGains(key string) (Series, bool) {
	for _, a := range l.ran {
		for _, p := range a.Points {
			if v, ok := p.Figures[key]; ok && a.Name == "base" && p.SizeBytes == sourceGainAt {
				s := Series{Name: "the gains on another machine (" + sourcePages.machine + "), from base pages here", Ref: true, Shape: 5, Color: 0}
				for _, g := range []struct {
					gain float64
					of   string
				}{{sourceTHPGain, "2 MiB pages"}, {sourceGiBGain, "1 GiB pages"}} {
					s.P = append(s.P, Point{X: sourceGainAt, Y: v.Median / g.gain, Name: g.of,
						Tip: [][2]string{{"the source's gain", unit.Ratio(g.gain)}, {"on base pages here", unit.Seconds(v.Median / g.gain)}}})
				}
				return s, true
			}
		}
	}
	return Series{}, false
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

// workload returns what an arm of gogc does, and its value of GOGC or number of
// goroutines; 0 for what has none.
func workload(a *result.LabArm) (name string, gogc, goroutines float64) {
	switch set := a.Setting.Runtime; {
	case a.Varies == result.VariesGoroutines:
		goroutines = float64(a.Goroutines)
	case a.Varies == result.VariesGOGC && set != nil && set.GOGC != nil:
		gogc, _ = strconv.ParseFloat(*set.GOGC, 64) // off is 0
	}
	return a.Work, gogc, goroutines
}
