package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

func runSection(f *result.File) *Section {
	arm := &f.Arms[0]
	s := &Section{Kicker: kicker(f), Heading: f.Program.Line(arm.Setting.Trial()), Code: true, About: about(f), Notes: slices.Clone(f.Notes)}
	if n := len(result.Usable(arm.Samples)); n > 1 { // as the answer counts them
		s.About = append(s.About, formatf("medians of %d runs, in %s", n, unit.ElapsedSeconds(f.ElapsedSeconds)))
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
	if text := report.Noise(found.Noise); text != "" {
		s.Verdict = text + "."
	}
	s.Answers = advice(found, &arm.Summary, len(samples))
	if last := arm.Samples[len(arm.Samples)-1]; f.Error == "" && !slices.ContainsFunc(arm.Samples, (*result.Sample).OK) {
		s.failed(formatf("the program failed (%s): these are the figures of a failed run", last.Failure))
	}
	var over []timed
	if t, ok := timedOf("this run", arm.Samples); ok {
		over = []timed{t}
	}
	if b := loadBlock(report.LoadedArms(f, true)); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if b := delaysBlock(arm); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	s.Blocks = append(s.Blocks, timeline(over))
	if w := arm.Waterfall; w != nil {
		b := waterfallBlock(&w.Waterfall, report.GCText(w.GC, false))
		b.Title, b.Words = report.NearPeakTitle(w), append(b.Words, w.Why...)
		s.Blocks = append(s.Blocks, b)
	}
	if b := everyRun(f); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	if b := whereBlock([]split{{"all", found.Profile}}); b != nil {
		b.Charts[0].Y.Categories[0] = "CPU time"
		b.Words = found.Time
		s.Blocks = append(s.Blocks, b)
		if c := callsBlock([]called{{"this run", found.Profile, arm.Tree}}); c != nil {
			s.Blocks = append(s.Blocks, c)
		} else if tb := sitesTable(found.Profile); tb != nil {
			b.Tables = append(b.Tables, tb)
		}
	} else {
		s.Blocks = append(s.Blocks, &Block{Title: "CPU time", Words: found.Time})
	}
	s.Blocks = append(s.Blocks, &Block{Title: "Figures", Tables: []*Table{figures(&arm.Summary, found != nil && found.GC == result.GCPartial)}})
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
			Text: "of CPU time goes to memory: GC, allocation, page faults.",
			Sure: formatf("By %s, %s to %s; %s.", unit.Plural(int(found.Profile.Samples), "sample"),
				unit.Percent(tax.Lo), unit.Percent(tax.Hi), sure)}}, out...)
	}
	out[0].Main, out[0].Sure = true, strings.TrimSpace(out[0].Sure+" "+upper(sure)+".")
	return out
}

// recommendations are what to try, or why there is nothing: one at least.
func recommendations(found *result.Analysis) (out []Answer) {
	for _, f := range found.Findings {
		out = append(out, nextStep(f))
	}
	if len(out) == 0 {
		return []Answer{{Goal: "Recommendations", Text: found.Nothing}}
	}
	out[0].Goal = "What to try first"
	return out
}

func nextStep(f result.NextStep) Answer {
	a := Answer{Text: upper(f.What) + ".", Sure: "Seen: " + f.Evidence + ".", Detail: "Try: " + f.Fix}
	if f.Source != "" {
		a.Sure += " Explained at " + f.Source + "."
	}
	if strings.HasPrefix(f.Fix, "folio ") {
		a.Line, a.Detail = f.Fix, ""
	}
	return a
}

// figures lists every figure of a summary. Of a trace that was seen in part its figures are
// lower bounds.
func figures(sum *result.Summary, partial bool) *Table {
	tb := &Table{Caption: "All figures: medians, with 95% intervals where there are enough runs. Of the GC's CPU time and the memory tax, by samples: of all runs together", Head: cols("figure", "median", "interval", "runs")}
	add := func(label string, format func(float64) string, i result.Interval) {
		between := ""
		if i.Lo != nil && i.Hi != nil {
			between = format(*i.Lo) + " to " + format(*i.Hi)
		}
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{plain(label), num(format(i.Median), i.Median), plain(between), num(itoa(i.N), float64(i.N))}})
	}
	for _, f := range figure.All {
		if f.Key == "gc_runtime_cpu_seconds" && !report.RuntimeCPUSays(sum) {
			continue
		}
		label := f.Label
		if sum.Figures[f.Key].Sampled {
			label += " (sampled)"
		}
		if partial && f.OfGC {
			label += ", at least"
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
