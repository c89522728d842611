package html

import (
	"slices"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/figure"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/unit"
)

func runSection(f *report.File) *Section {
	arm := &f.Arms[0]
	s := &Section{Kicker: kicker(f), Heading: f.Program.Line(settingOf(arm.Setting)), Code: true, About: about(f), Notes: slices.Clone(f.Notes)}
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
	samples := report.Usable(arm.Samples)
	command := f.Program.Command
	if f.Program.Build != nil && len(command) > 0 {
		command = command[1:] // the flags have the rest
	}
	sheet := diagnose.NewSheet(f.Host, settingOf(arm.Setting), command, samples)
	sheet.Server, sheet.Flags, sheet.Digest = f.Program.Load != "", again(f), arm.Summary.Collector
	sheet.Go, sheet.PID = sheet.Go || f.Program.GoVersion != nil, f.Program.Attached
	s.Answers = advice(&sheet, samples)
	if last := arm.Samples[len(arm.Samples)-1]; f.Error == "" && !slices.ContainsFunc(arm.Samples, (*trial.Sample).OK) {
		s.failed(formatf("the program failed (%s): these are the figures of a failed run", last.Failure))
	}
	s.Blocks = append(s.Blocks, timeline(arm.Samples))
	if b := whereBlock([]split{{"all", sheet.Where}}); b != nil {
		b.Charts[0].Y.Categories[0] = "processor time"
		b.Words = sheet.Time()
		if tb := sitesTable(sheet.Where); tb != nil {
			b.Tables = append(b.Tables, tb)
		}
		s.Blocks = append(s.Blocks, b)
	} else {
		s.Blocks = append(s.Blocks, &Block{Title: "Where the time goes", Words: sheet.Time()})
	}
	s.Blocks = append(s.Blocks, &Block{Title: "Figures", Tables: []*Table{figures(samples)}})
	return s
}

func kicker(f *report.File) string {
	if f.Kind == report.KindAttach {
		return "folio run --attach"
	}
	return "folio " + f.Kind
}

// again returns the flags with which folio runs the program as it was run.
func again(f *report.File) []string {
	var out []string
	for _, kv := range f.Arms[0].Setting.Env {
		out = append(out, "--env", kv)
	}
	add := func(flag, value string) {
		if value != "" {
			out = append(out, flag, value)
		}
	}
	p, higher := f.Program, false
	if p.Build != nil {
		add("--build", p.Build.Package)
	}
	if m := f.Metric; m != nil {
		text := m.Name
		if m.Pattern != "" {
			text += "=" + m.Pattern
		}
		add("--metric", text)
		higher = m.Higher
	}
	add("--input", p.Input)
	add("--ready", p.Ready)
	add("--load", p.Load)
	if higher {
		out = append(out, "--higher")
	}
	if p.IgnoreExit {
		out = append(out, "--ignore-exit")
	}
	return out
}

// advice is what package diagnose advises, the largest gain first.
func advice(sheet *diagnose.Sheet, samples []*trial.Sample) []Answer {
	sure := formatf("wall %s%s, processor time %s, %s", unit.Seconds(sheet.Wall), spread(stat.Summarize(trial.FigureOf("wall_seconds").Values(samples))), unit.Seconds(sheet.CPU), unit.Of(len(samples), "run"))
	if len(samples) == 1 {
		sure += ": how much it varies is not known"
	}
	if w := sheet.Where; w != nil {
		sure = formatf("%s of the processor time is the memory tax, by %s; ", unit.Percent(w.MemoryTaxFraction), unit.Of(int(w.Samples), "sample")) + sure
	}
	found := sheet.Advise()
	if len(found) == 0 {
		return []Answer{{Main: true, Goal: "What to try next", Text: sheet.Nothing(), Sure: upper(sure) + "."}}
	}
	var out []Answer
	for i, f := range found {
		a := Answer{Main: i == 0, Text: upper(f.What) + ".", Sure: "Seen: " + f.Evidence + ".", Detail: "Try: " + f.Fix}
		if len(f.Fix) > 6 && f.Fix[:6] == "folio " {
			a.Line, a.Detail = f.Fix, ""
		}
		if i == 0 {
			a.Goal, a.Sure = "What to try first", a.Sure+" "+upper(sure)+"."
		}
		out = append(out, a)
	}
	return out
}

// figures lists every figure of the samples.
func figures(samples []*trial.Sample) *Table {
	tb := &Table{Caption: "All figures: medians, with 95% intervals where there are enough runs. Of the GC's CPU time and the memory tax, by samples: of all runs together", Head: cols("figure", "median", "interval", "runs")}
	add := func(label string, format func(float64) string, v []float64) {
		if len(v) == 0 {
			return
		}
		s := stat.Summarize(v)
		between := ""
		if s.HasInterval {
			between = format(s.Lo) + " to " + format(s.Hi)
		}
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(label), num(format(s.Median), s.Median), plain(between), num(itoa(s.N), float64(s.N))}})
	}
	for _, f := range trial.Figures {
		label := f.Label
		if trial.AnySampled(f.Key, samples) {
			label += " (sampled)"
		}
		v := f.Values(samples)
		if !f.Pooled {
			add(label, f.Format, v)
		} else if c, ok := f.Center(samples); ok {
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(label), num(figure.KindOf(f.Key).Format(c), c), plain(""), num(itoa(len(v)), float64(len(v)))}})
		}
	}
	var names []string
	for _, s := range samples {
		for k := range s.Metrics {
			if !slices.Contains(names, k) {
				names = append(names, k)
			}
		}
	}
	slices.Sort(names)
	for _, k := range names {
		own := &report.Target{Name: k}
		of := target{own, own.Spec()}
		add(k, of.text, of.values(samples))
	}
	tb.dropEmpty()
	return tb
}

// timeline draws the memory of a run over time: the first that has it.
func timeline(samples []*trial.Sample) *Block {
	i := slices.IndexFunc(samples, func(s *trial.Sample) bool { return s.Series != nil && len(s.Series.RSS.Seconds) > 1 })
	if i < 0 {
		return &Block{Title: "Memory over time", Words: []string{"Not in this result: the run was too short to be looked at twice, or the result is of a version of folio, or of a command, that does not keep it."}}
	}
	s := samples[i].Series
	c := &Chart{Kind: XY, Title: "Memory over time", Partly: true, Caption: "One run. Resident memory is of all processes together.", X: Axis{Label: "seconds since the start", Format: Seconds, Zero: true}, Y: Axis{Label: "memory", Format: Bytes, Zero: true}}
	tb := &Table{Caption: "Memory over time", Head: cols("figure", "looks", "least", "most", "last")}
	for _, x := range []struct {
		name       string
		track      trial.Track
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
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(x.name), num(itoa(n*max(x.track.Each, 1)), float64(n*max(x.track.Each, 1))), size(slices.Min(v)), size(slices.Max(v)), size(v[n-1])}})
	}
	if n := len(s.Heap.Seconds); n > 0 {
		gc := Series{Name: "GC cycles", Color: 5, Ticks: true}
		if s.Heap.Each > 1 {
			gc.Name = formatf("GC cycles, a mark for %d", s.Heap.Each)
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
