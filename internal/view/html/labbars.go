package html

import (
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/result/figure"
)

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

// drawBars draws the experiments that are not over sizes: times together, sizes
// together.
func (l *labView) drawBars(b *Block) {
	var times, sizes []string
	for _, f := range l.Figures {
		switch {
		case strings.HasSuffix(f.Key, "_seconds") && !strings.HasPrefix(f.Key, "fork"):
			times = append(times, f.Key)
		case strings.HasSuffix(f.Key, "_bytes"):
			sizes = append(sizes, f.Key)
		}
	}
	if len(times) > 0 {
		c := l.bars("Times", Log, times...)
		c.Caption = "On a logarithmic scale."
		b.Charts = append(b.Charts, c)
	}
	if len(sizes) > 0 {
		b.Charts = append(b.Charts, l.bars("Memory", Linear, sizes...))
	}
	if l.Name == "fork" {
		b.Charts = append(b.Charts, l.bars("The call of fork itself", Linear, "fork_seconds"))
	}
	if l.Name == "bloat" {
		slices.Reverse(b.Charts) // it is about memory
	}
}

// drawArenas draws time, faults and memory of each way to allocate; for trees
// with the four variants of the source.
func (l *labView) drawArenas(b *Block) {
	wall := l.bars("Time", Linear, "wall_seconds", "user_seconds", "system_seconds")
	rss := l.bars("Peak memory", Linear, "peak_rss_bytes")
	faults := l.bars("Page faults", Log, "faults")
	if l.Name == "arenas-trees" {
		src := sourceArenas
		caption := formatf("Rows that begin with “elsewhere” are from another machine (%s; %s), %s.", src.name, src.machine, src.where)
		add := func(c *Chart, format func(float64) string, get ...func(sourceArm) float64) {
			c.Caption = caption
			for k, g := range get {
				for j, a := range src.arms {
					if k == 0 {
						c.Y.Categories = append(c.Y.Categories, "elsewhere: "+a.name)
					}
					v := g(a)
					c.Series[k].P = append(c.Series[k].P,
						Point{X: v, Y: float64(len(l.ran) + j), Name: "elsewhere: " + a.name, Text: format(v),
							Tip: [][2]string{{c.Series[k].Name, format(v)}, {"another machine", src.machine}}, Ref: true})
				}
			}
		}
		add(wall, unit.Seconds, func(a sourceArm) float64 { return a.wall },
			func(a sourceArm) float64 { return a.user }, func(a sourceArm) float64 { return a.system })
		add(rss, unit.Bytes, func(a sourceArm) float64 { return a.rssMB * 1e6 })
		add(faults, unit.Count, func(a sourceArm) float64 { return a.faults })
		tb := &Table{Caption: formatf("From another machine: %s, %s", src.name, src.machine),
			Head: cols("variant", "wall", "user", "system", "RSS", "faults")}
		for _, a := range src.arms {
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(a.name), num(unit.Seconds(a.wall), a.wall),
				num(unit.Seconds(a.user), a.user), num(unit.Seconds(a.system), a.system),
				num(unit.Bytes(a.rssMB*1e6), a.rssMB), num(unit.Count(a.faults), a.faults)}})
		}
		b.Tables = append(b.Tables, tb)
	}
	b.Charts = append(b.Charts, wall, rss, faults)
}

// drawGOGC draws throughput against goroutines and against GOGC, and what the
// latter costs, a line for each kind of work.
func (l *labView) drawGOGC(b *Block) {
	ops := l.figure("ops_per_second").Label
	y := Axis{Label: ops + ", more is better", Scale: Log, Format: Count}
	procs := &Chart{Kind: XY, Title: "Throughput against goroutines, default GOGC",
		X: Axis{Label: "goroutines", Scale: Log2, Format: Count}, Y: y}
	gogc := &Chart{Kind: XY, Title: "Throughput against GOGC", X: Axis{Label: "GOGC", Scale: Log, Format: Count}, Y: y}
	mem := &Chart{Kind: XY, Title: "Peak memory against GOGC", X: gogc.X, Y: Axis{Label: "peak RSS", Scale: Log2, Format: Bytes}, Height: 280}
	var works []string
	for _, a := range l.ran {
		if name, _, _ := workload(a); !slices.Contains(works, name) {
			works = append(works, name)
		}
	}
	for i, work := range works {
		series := Series{Name: work, Color: 1 + i%6, Shape: i, Line: true}
		byProcs, byGOGC, byMem := series, series, series
		for _, a := range l.ran {
			name, g, n := workload(a)
			if name != work {
				continue
			}
			if n > 0 {
				byProcs.P = l.add(byProcs.P, a, n, "ops_per_second")
			}
			if g > 0 {
				byGOGC.P = l.add(byGOGC.P, a, g, "ops_per_second")
				byMem.P = l.add(byMem.P, a, g, "rss_bytes")
			}
		}
		procs.Series, gogc.Series, mem.Series = append(procs.Series, byProcs), append(gogc.Series, byGOGC), append(mem.Series, byMem)
	}
	for _, x := range []struct {
		c     *Chart
		src   source
		label string
	}{{procs, sourceGoroutines, "goroutines"}, {gogc, sourceGOGC, "GOGC"}} {
		x.c.Caption = x.src.caption()
		x.c.Series = append(x.c.Series, x.src.draw(unit.Count, unit.Count)...)
		b.Tables = append(b.Tables, x.src.table(x.label, "operations/s", unit.Count, unit.Count))
	}
	gogc.Caption += " With the GC off: 413,740 there. GOGC=off and package gctune are in the table."
	b.Charts = append(b.Charts, procs, gogc, mem)
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
