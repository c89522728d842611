package html

import (
	"maps"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/result/figure"
)

func runSection(f *result.File) *Section {
	arm := &f.Arms[0]
	s := &Section{Kicker: kicker(f), Heading: f.Program.Line(arm.Setting.Trial()), Code: true, About: about(f), Notes: slices.Clone(f.Notes)}
	if n := len(arm.Samples); n > 1 {
		s.About = append(s.About, formatf("medians of %d runs", n))
	}
	if !f.Complete {
		s.Notes = append([]string{"the measurement was not completed"}, s.Notes...)
	}
	if len(arm.Samples) == 0 {
		s.Answers = []Answer{{Main: true, Text: "Nothing was measured."}}
		return s
	}
	samples := result.Usable(arm.Samples)
	found := f.Analysis
	if found == nil {
		found = &result.Analysis{Nothing: "The measurement ended before its result was analyzed."}
	}
	s.Answers = advice(found, &arm.Summary, len(samples))
	if last := arm.Samples[len(arm.Samples)-1]; f.Error == "" && !slices.ContainsFunc(arm.Samples, (*result.Sample).OK) {
		s.failed(formatf("the program failed (%s): these are the figures of a failed run", last.Failure))
	}
	s.Blocks = append(s.Blocks, timeline(arm.Samples))
	if b := whereBlock([]split{{"all", found.Profile}}); b != nil {
		b.Charts[0].Y.Categories[0] = "CPU time"
		b.Words = found.Time
		if tb := sitesTable(found.Profile); tb != nil {
			b.Tables = append(b.Tables, tb)
		}
		s.Blocks = append(s.Blocks, b)
	} else {
		s.Blocks = append(s.Blocks, &Block{Title: "CPU time", Words: found.Time})
	}
	s.Blocks = append(s.Blocks, &Block{Title: "Figures", Tables: []*Table{figures(&arm.Summary)}})
	return s
}

func kicker(f *result.File) string {
	if f.Kind == result.KindAttach {
		return "folio run --attach"
	}
	return "folio " + f.Kind
}

// advice is the one figure of the run and what was found, the largest gain first.
func advice(found *result.Analysis, sum *result.Summary, runs int) []Answer {
	wall, cpu := sum.Figures["wall_seconds"], sum.Figures["cpu_seconds"]
	sure := formatf("wall %s%s, CPU time %s, %s", unit.Seconds(wall.Median), spread(wall.Summary()),
		unit.Seconds(cpu.Median), unit.Plural(runs, "run"))
	if runs == 1 {
		sure += ": how much it varies is not known"
	}
	out := recommendations(found)
	if tax := found.Tax; tax != nil && found.Profile != nil {
		return append([]Answer{{Main: true, Neutral: true, Figure: unit.Percent(tax.Fraction),
			Text: "of CPU time goes to managing memory: GC, allocation, page faults.",
			Sure: formatf("By %s, %s to %s; %s.", unit.Plural(int(found.Profile.Samples), "sample"),
				unit.Percent(tax.Lo), unit.Percent(tax.Hi), sure)}}, out...)
	}
	out[0].Main, out[0].Sure = true, strings.TrimSpace(out[0].Sure+" "+upper(sure)+".")
	return out
}

// recommendations are what to try, or why there is nothing: one at least.
func recommendations(found *result.Analysis) (out []Answer) {
	for _, f := range found.Findings {
		a := Answer{Text: upper(f.What) + ".", Sure: "Seen: " + f.Evidence + ".", Detail: "Try: " + f.Fix}
		if f.Source != "" {
			a.Sure += " Explained at " + f.Source + "."
		}
		if strings.HasPrefix(f.Fix, "folio ") {
			a.Line, a.Detail = f.Fix, ""
		}
		out = append(out, a)
	}
	if len(out) == 0 {
		return []Answer{{Goal: "Recommendations", Text: found.Nothing}}
	}
	out[0].Goal = "What to try first"
	return out
}

// figures lists every figure of a summary.
func figures(sum *result.Summary) *Table {
	tb := &Table{Caption: "All figures: medians, with 95% intervals where there are enough runs. Of the GC's CPU time and the memory tax, by samples: of all runs together", Head: cols("figure", "median", "interval", "runs")}
	add := func(label string, format func(float64) string, i result.Interval) {
		between := ""
		if i.Lo != nil && i.Hi != nil {
			between = format(*i.Lo) + " to " + format(*i.Hi)
		}
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(label), num(format(i.Median), i.Median), plain(between), num(itoa(i.N), float64(i.N))}})
	}
	for _, f := range figure.All {
		label := f.Label
		if sum.Figures[f.Key].Sampled {
			label += " (sampled)"
		}
		if i, ok := sum.Figures[f.Key]; ok {
			add(label, f.Format, i)
		} else if p, ok := sum.Pooled[f.Key]; ok {
			add(label, f.Format, result.Interval{N: p.N, Median: p.Pooled})
		}
	}
	for _, k := range slices.Sorted(maps.Keys(sum.Metrics)) {
		own := &result.Target{Name: k}
		add(k, target{own, own.Spec()}.text, sum.Metrics[k])
	}
	tb.dropEmpty()
	return tb
}

// timeline draws the memory of a run over time: the first that has it.
func timeline(samples []*result.Sample) *Block {
	i := slices.IndexFunc(samples, func(s *result.Sample) bool { return s.Series != nil && len(s.Series.RSS.Seconds) > 1 })
	if i < 0 {
		return &Block{Title: "Memory over time", Words: []string{"Not in this result: the run was too short to be looked at twice, or the result is of a version of folio, or of a command, that does not keep it."}}
	}
	s := samples[i].Series
	c := &Chart{Kind: XY, Title: "Memory over time", Partly: true,
		Caption: "One run. Resident memory is of all processes together.",
		X:       Axis{Label: "seconds since the start", Format: Seconds, Zero: true}, Y: Axis{Label: "memory", Format: Bytes, Zero: true}}
	tb := &Table{Caption: "Memory over time", Head: cols("figure", "looks", "least", "most", "last")}
	for _, x := range []struct {
		name       string
		track      result.Track
		color      int
		area, dash bool
	}{
		{"resident (RSS)", s.RSS, 1, true, false}, {"on huge pages", s.Huge, 3, false, false},
		{"Go heap after collection", s.Heap, 2, false, false}, {"live of it", s.Live, 4, false, true},
	} {
		n := min(len(x.track.Seconds), len(x.track.Bytes))
		if n == 0 {
			continue
		}
		series := Series{Name: x.name, Color: x.color, Line: true, Bare: true, Area: x.area, Dash: x.dash}
		for j := range n {
			at, bytes := x.track.Seconds[j], float64(x.track.Bytes[j])
			series.P = append(series.P, Point{X: at, Y: bytes, Tip: [][2]string{{"at", unit.Seconds(at)}, {"memory", unit.Bytes(bytes)}}})
		}
		c.Series = append(c.Series, series)
		v := x.track.Bytes[:n]
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(x.name),
			num(itoa(n*max(x.track.Stride, 1)), float64(n*max(x.track.Stride, 1))), size(slices.Min(v)), size(slices.Max(v)), size(v[n-1])}})
	}
	if n := len(s.Heap.Seconds); n > 0 {
		gc := Series{Name: "GC cycles", Color: 5, Ticks: true}
		if s.Heap.Stride > 1 {
			gc.Name = formatf("GC cycles, a mark for %d", s.Heap.Stride)
		}
		for j, at := range s.Heap.Seconds {
			p := Point{X: at, Tip: [][2]string{{"at", unit.Seconds(at)}}}
			if j < len(s.Heap.Bytes) {
				p.Tip = append(p.Tip, [2]string{"heap after it", unit.Bytes(float64(s.Heap.Bytes[j]))})
			}
			gc.P = append(gc.P, p)
		}
		c.Series = append(c.Series, gc)
	}
	if len(samples) > 1 {
		c.Caption += formatf(" This is run %d of %d.", i+1, len(samples))
	}
	return &Block{Title: "Memory over time", Charts: []*Chart{c}, Tables: []*Table{tb}, Fold: true}
}
