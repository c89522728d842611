package document

import (
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A reference adds its figures to a chart, and to the tables of the experiment.
type reference func(l *labView, d result.LabChart, c *Chart, f *Fold)

// references draw what others published beside what was measured, by the names in
// [result.LabChart].
var references = map[string]reference{
	"reads-latency": func(_ *labView, _ result.LabChart, c *Chart, _ *Fold) { tlbReach(c) },
	"reads-throughput": func(l *labView, d result.LabChart, c *Chart, _ *Fold) {
		tlbReach(c)
		if ref, ok := l.sourceGains(d.Figures[0]); ok {
			c.Series, c.Partly = append(c.Series, ref), true
			c.Caption += " Hollow: " + ref.Name + "."
			return
		}
		c.Caption += formatf(" From another machine (%s): at 4 GiB, 2MiB pages are %s as fast as base pages, 1GiB pages %s.",
			sourcePages.machine, unit.Ratio(sourceTHPGain), unit.Ratio(sourceGiBGain))
	},
	"faults":  bySizes(sourceFaults),
	"madvise": bySizes(sourceMadvise),
	"goroutines": func(_ *labView, _ result.LabChart, c *Chart, f *Fold) {
		sourceGoroutines.beside(c, f, "goroutines", "operations/s", unit.Count, unit.Count)
	},
	"gogc": func(_ *labView, _ result.LabChart, c *Chart, f *Fold) {
		sourceGOGC.beside(c, f, "GOGC", "operations/s", unit.Count, unit.Count)
		c.Caption += " With the GC off: 413,740 there. GOGC=off and package gctune are in the table."
	},
	"trees":  byArms(sourceArenas, "wall_seconds", "user_seconds", "system_seconds", "peak_rss_bytes", "faults"),
	"assist": byArms(sourceAssist, "p99_seconds"),
}

func bySizes(src source) reference {
	return func(_ *labView, _ result.LabChart, c *Chart, f *Fold) {
		src.beside(c, f, "memory", "time", sizeText, unit.Seconds)
	}
}

// beside adds the lines of a source to a chart, and its figures to the tables.
func (s source) beside(c *Chart, f *Fold, xLabel, yLabel string, xText, yText func(float64) string) {
	c.Caption = s.caption()
	c.Series = append(c.Series, s.draw(yText, xText)...)
	f.Tables = append(f.Tables, s.table(xLabel, yLabel, xText, yText))
}

// tlbReach marks how far the translation buffers of the source's example reach.
func tlbReach(c *Chart) {
	c.Lines = []Line{
		{zen4L1 * smallPage, "L1 TLB, 4 KiB pages"}, {zen4L2 * smallPage, "L2 TLB, 4 KiB"},
		{zen4L1 * bigOne, "L1 TLB, 2 MiB"}, {zen4L2 * bigOne, "L2 TLB, 2 MiB"},
	}
	c.Caption = formatf("Upright: how far the %d and %d entries of an AMD Zen 4 reach, the example of %s; this processor's may reach further or less far.",
		zen4L1, zen4L2, sourcePages.name)
}

// sourceGains puts the source's ratios, which are of reads of 4 GiB, on what base
// pages take here.
func (l *labView) sourceGains(key string) (Series, bool) {
	for _, a := range l.ran {
		for _, p := range a.Points {
			v, ok := p.Figures[key]
			if !ok || a.Setting.Pages != basePages || p.SizeBytes != sourceGainAt {
				continue
			}
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
	return Series{}, false
}

// basePages is the kind of an arm's pages: see [result.LabSetting].
const basePages = "base"

// byArms adds the rows of a source to the bars of a chart, and its figures of these keys to
// the tables.
func byArms(src armsSource, keys ...string) reference {
	return func(l *labView, d result.LabChart, c *Chart, f *Fold) {
		c.Caption = formatf("Rows that begin with “elsewhere” are from another machine (%s; %s), %s.", src.name, src.machine, src.where)
		for _, a := range src.arms {
			name, row := "elsewhere: "+a.name, float64(len(c.Y.Categories))
			c.Y.Categories = append(c.Y.Categories, name)
			for k, s := range c.Series {
				if v, ok := a.figures[d.Figures[k]]; ok {
					text := figure.KindOf(d.Figures[k]).Format(v)
					c.Series[k].P = append(s.P, Point{X: v, Y: row, Name: name, Text: text, Ref: true,
						Tip: [][2]string{{s.Name, text}, {"another machine", src.machine}}})
				}
			}
		}
		tb := &Table{Caption: formatf("From another machine: %s, %s", src.name, src.machine), Head: cols("variant")}
		if slices.ContainsFunc(f.Tables, func(t *Table) bool { return t.Caption == tb.Caption }) {
			return // below another chart
		}
		for _, k := range keys {
			tb.Head = append(tb.Head, Column{Label: l.figure(k).Label, Num: true})
		}
		for _, a := range src.arms {
			row := Row{Cells: []Cell{plain(a.name)}}
			for _, k := range keys {
				row.Cells = append(row.Cells, num(figure.KindOf(k).Format(a.figures[k]), a.figures[k]))
			}
			tb.Rows = append(tb.Rows, row)
		}
		f.Tables = append(f.Tables, tb)
	}
}
