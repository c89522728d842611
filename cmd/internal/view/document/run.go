package document

import (
	"cmp"
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
	if text := report.Noise(found.Noise, f.Metric); text != "" {
		s.Verdict = text + "."
	}
	s.Answers = advice(found, mainFigures(f), len(samples))
	if allLate(f) {
		s.Answers = s.Answers[:1] // what to do next would be at the rate that is too high
	}
	if last := arm.Samples[len(arm.Samples)-1]; f.Error == "" && !slices.ContainsFunc(arm.Samples, (*result.Sample).OK) {
		if last.Interrupted {
			s.interrupted(last)
		} else {
			s.failed(allFailed(arm.Samples), atLowerRate(f)...)
		}
		if last.Charged != "" {
			s.Answers[0].Sure = upper(last.Charged) + "."
		}
		s.Notes = slices.DeleteFunc(s.Notes, func(n string) bool {
			return n == result.NoteFailed || strings.HasPrefix(n, result.NoteLate) || strings.HasPrefix(n, "the run was interrupted") && strings.HasSuffix(n, ": its figures are of the time until then")
		})
	}
	var over []timed
	if t, ok := timedOf("this run", arm.Samples); ok {
		over = []timed{t}
	}
	if b := loadBlock(report.LoadedArms(f, true)); b != nil {
		b.Lead = loadSays(f)
		s.Blocks = append(s.Blocks, b)
	}
	if b := delaysBlock(arm); b != nil {
		s.Blocks = append(s.Blocks, b)
	}
	where := whereBlock([]split{{"time", found.Profile}})
	if where != nil {
		where.Key = true
		where.Charts[0].Y.Categories[0] = "CPU time"
		where.Words = found.Time
		s.Blocks = append(s.Blocks, where)
		if c := callsBlock([]called{{"this run", found.Profile, arm.Tree}}); c != nil {
			c.Key = len(c.Tables) > 0
			s.Blocks = append(s.Blocks, c)
		} else if tb := sitesTable(found.Profile); tb != nil {
			where.Tables = append(where.Tables, tb)
		}
	} else {
		s.Blocks = append(s.Blocks, &Block{Title: "CPU time", Words: found.Time})
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
	s.Blocks = append(s.Blocks, &Block{Title: "Figures", Tables: []*Table{figures(&arm.Summary, found != nil && found.GC == result.GCPartial)}})
	return s
}

// allFailed says why all runs failed; of several also what the program said, which was not shown last.
func allFailed(samples []*result.Sample) string {
	last := samples[len(samples)-1]
	if len(samples) == 1 {
		return last.Failure + ". The figures are of the failed run"
	}
	why := last.Failure
	if line := last.Reason(); line != "" {
		why += ": " + strings.TrimSuffix(line, ".")
	}
	return formatf("all %d runs failed: %s. The figures are of the failed runs", len(samples), why)
}

func kicker(f *result.File) string {
	if f.Kind == result.KindAttach {
		return "folio run --attach"
	}
	return "folio " + f.Kind
}

// advice is the one figure of the run and what was found, the largest gain first.
func advice(found *result.Analysis, figures string, runs int) []Answer {
	a := Answer{Main: true, Sure: figures + "."}
	if runs == 1 {
		a.Sure = figures + " (one run)."
	}
	switch tax := found.Tax; {
	case tax == nil || found.Profile == nil:
		a.Text = cmp.Or(found.Unknown, "Memory tax unknown.")
		for _, l := range found.Time {
			if of, ok := strings.CutPrefix(l, "GC CPU by the runtime: "); ok {
				of, _, _ = strings.Cut(of, ". ")
				a.Text += " GC by the runtime's clock, which includes waiting for a CPU: " + of + "."
			}
		}
	default:
		a.Figure = unit.Percent(tax.Fraction)
		a.Goal = "Memory tax"
		a.Text = formatf("of CPU time (95%% interval %s to %s)", unit.Percent(tax.Lo), unit.Percent(tax.Hi))
		switch gc := found.Profile.GCFraction; {
		case !found.Profile.Kernel && gc != nil:
			a.Text += formatf(", without page faults, %s for the GC", unit.Percent(*gc))
		case !found.Profile.Kernel:
			a.Text += ", without page faults"
		case gc != nil:
			a.Text += formatf(", %s for the GC", unit.Percent(*gc))
		}
		a.Text += "."
		a.Sure = strings.TrimSuffix(a.Sure, ".") + formatf("; shares from %s.", unit.Plural(int(found.Profile.Samples), "sample"))
	}
	return append([]Answer{a}, recommendations(found)...)
}

// mainFigures are the figures of a run that most readers look for, with how much they vary.
func mainFigures(f *result.File) string {
	sum := &f.Arms[0].Summary
	partial := f.Analysis != nil && f.Analysis.GC == result.GCPartial
	var out []string
	for _, x := range []struct{ key, what string }{
		{"wall_seconds", "wall time"}, {"cpu_seconds", "CPU time"}, {"peak_tree_rss_bytes", "peak RSS"}, {"minor_faults", "page faults"},
		{"gc_cycles", "GC cycles"}, {"gc_pause_seconds", "stop-the-world"}, {"throttled_seconds", "throttled"}, {"oom_kills", "OOM kills"},
	} {
		v, ok := sum.Center(x.key)
		if !ok && x.key == "peak_tree_rss_bytes" {
			x.key = "peak_rss_bytes"
			v, ok = sum.Center(x.key)
		}
		if !ok || v == 0 && x.key == "oom_kills" {
			continue
		}
		fig := figure.ByKey(x.key)
		text := fig.Format(v) + " " + x.what
		if i, ok := sum.Figures[x.key]; ok && x.key == "wall_seconds" {
			text += spread(i.Summary())
		}
		if x.what == "peak RSS" && f.Arms[0].Growing() {
			text += " and still growing"
		}
		if v == 1 && fig.Kind == figure.Count {
			text = strings.TrimSuffix(text, "s")
		}
		if partial && fig.OfGC {
			text = "at least " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, ", ")
}

// recommendations are what to try, or why there is nothing, unless the memory tax is unknown.
func recommendations(found *result.Analysis) (out []Answer) {
	for i, f := range found.Findings {
		out = append(out, nextStep(f))
		out[i].Minor = i > 0
	}
	if len(out) > 0 {
		out[0].Goal = "What to try first"
	} else if found.Nothing != "" {
		return []Answer{{Text: found.Nothing}}
	}
	return out
}

func nextStep(f result.NextStep) Answer {
	a := Answer{Text: upper(f.What) + ".", Detail: "Seen: " + f.Evidence + "."}
	if f.Source != "" {
		a.Detail += " Explained at " + f.Source + "."
	}
	if strings.HasPrefix(f.Fix, "folio ") {
		a.Line = f.Fix
	} else if where, ok := strings.CutPrefix(f.Fix, "at "); ok {
		a.Sure = "Where: " + where
	} else {
		a.Sure = "Try: " + f.Fix
	}
	return a
}

// figures lists every figure of a summary. Of a trace that was seen in part its figures are
// lower bounds.
func figures(sum *result.Summary, partial bool) *Table {
	tb := &Table{Caption: "All figures: medians, with 95% intervals from 6 runs on. GC CPU time and memory tax by samples: pooled over all runs", Head: cols("figure", "median", "interval", "runs")}
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
