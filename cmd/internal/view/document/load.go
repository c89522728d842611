package document

import (
	"maps"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// loadSection is what a load found.
func loadSection(f *result.Load) *Section {
	set := &f.Settings
	s := &Section{Kicker: "folio load", Heading: report.Request(set), Notes: f.Notes,
		About: []string{report.Arrivals(*set)}}
	if !f.Complete {
		s.failed("interrupted")
	}
	if f.Intended == 0 {
		s.Answers = append(s.Answers, Answer{Main: true, Text: "Nothing was measured."})
		return s
	}
	a := loadAnswer(f.Latency, f.Counts)
	a.Main, a.Bad = f.Complete, f.Late
	if f.Late && f.Succeeded > 0 {
		if a.Figure != "" {
			a.Figure += " LATE"
		}
		a.Sure = "LATE: do not use these latencies. The 99th percentile of late starts is above " + unit.Seconds(f.Lateness.Bound) + ", the bound for this run"
		if longer := f.Lateness.Added; longer != nil {
			a.Sure += ", and makes p99 longer by " + unit.Seconds(*longer)
		}
		a.Sure += ". Give the generator a CPU of its own, or a lower --rate."
	}
	s.Answers = append(s.Answers, a)
	b := &Block{Key: true}
	if len(f.Status) > 0 {
		b.Words = append(b.Words, "Answers: "+tally(f.Status)+" by "+protocols(f.Protocols)+".")
	}
	if len(f.Codes) > 0 {
		b.Words = append(b.Words, "Status of gRPC: "+tally(f.Codes)+".")
	}
	if l := f.Lateness; l.P99 != nil {
		b.Words = append(b.Words, formatf("Generator: starts late by %s (median), %s (99th percentile), %s (maximum); %s later than %s.",
			unit.Seconds(*l.P50), unit.Seconds(*l.P99), unit.Seconds(*l.Max), unit.Number(l.LateStarts), unit.Span(result.LateStart)))
	}
	s.Blocks = []*Block{percentiles(f.Latency, result.LoadIntervals{}, f.Counts), b}
	if t := failures(f.Failures.Kinds(set, f.Errors)); t != nil {
		s.Blocks = append(s.Blocks, &Block{Key: true, Tables: []*Table{t}})
	}
	return s
}

// loadsSection is several runs of one load together.
func loadsSection(m *result.LoadMerged) *Section {
	s := &Section{Kicker: "folio load", Heading: unit.Plural(m.Runs, "run") + ", pooled"}
	if m.LateRuns > 0 {
		s.About = append(s.About, unit.Plural(m.LateRuns, "run")+" left out: the generator was late")
	}
	if m.PartialRuns > 0 {
		s.About = append(s.About, unit.Plural(m.PartialRuns, "run")+" left out: interrupted")
	}
	a := loadAnswer(m.Latency, m.Counts)
	a.Main = true
	s.Answers = []Answer{a}
	s.Blocks = []*Block{percentiles(m.Latency, m.Intervals, m.Counts)}
	if t := failures(m.Failures.Kinds(nil, m.Errors)); t != nil {
		s.Blocks = append(s.Blocks, &Block{Key: true, Tables: []*Table{t}})
	}
	return s
}

// loadAnswer is a load in a line: its latency, as far as there is any, and its requests.
func loadAnswer(l result.LoadLatency, n result.LoadCounts) Answer {
	a := Answer{Text: report.Counts(n) + "."}
	if l.P50 == nil {
		return a
	}
	p50 := "p50 " + unit.Seconds(*l.P50)
	switch why := report.NoPercentile(0.99, l.P99, n.Intended); why {
	case "":
		a.Figure, a.Text = "p99 "+unit.Seconds(*l.P99), "("+p50+"). "+a.Text
	case "failed":
		a.Figure, a.Text = "p99 failed", "("+p50+"). "+a.Text
	default:
		a.Figure, a.Text = p50, formatf("(p99: %s). %s", why, a.Text)
	}
	return a
}

// failures lists the kinds of failures that there were; nil for none.
func failures(kinds []result.LoadFailedKind) *Table {
	t := &Table{Caption: "Failed", Head: []Column{{Label: "requests", Num: true}, {Label: "why"}}}
	for _, k := range kinds {
		t.Rows = append(t.Rows, Row{Cells: []Cell{num(unit.Number(k.Requests), float64(k.Requests)), plain(k.Text)}})
	}
	if len(t.Rows) == 0 {
		return nil
	}
	return t
}

// tally lists counts by name.
func tally(m map[string]int64) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, unit.Number(m[k])+" "+k)
	}
	return join(out)
}

func protocols(m map[string]int64) string {
	if len(m) > 1 {
		return tally(m)
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), "")
}

// tailChart draws which share of requests took longer than a time; nil without two times.
func tailChart(l result.LoadLatency, n result.LoadCounts) *Chart {
	// A point is left out where the share differs by less than this from the one before.
	const least = 0.97
	s := Series{Name: "requests", Color: 1, Line: true, Step: true, Bare: true}
	slower, last := n.Intended, 1.0
	for i, ns := range l.Histogram.Nanoseconds {
		slower -= l.Histogram.Counts[i]
		tail := float64(slower) / float64(n.Intended)
		if at := float64(ns) / 1e9; tail > 0 && at > 0 && (i == 0 || tail < last*least) {
			s.P = append(s.P, Point{X: at, Y: tail, Name: "slower than " + unit.Seconds(at), Tip: [][2]string{{"requests", unit.Percent(tail)}}})
			last = tail
		}
	}
	if len(s.P) < 2 {
		return nil
	}
	c := &Chart{Kind: XY, Partly: true, Title: "Requests that took longer", Caption: "Log scales. 1% took longer than p99.",
		X: Axis{Label: "latency", Scale: Log, Format: Seconds}, Y: Axis{Label: "share of requests", Scale: Log, Format: Percent}, Series: []Series{s}}
	if n.Failed > 0 {
		c.Caption += " Failed requests count as the slowest."
	}
	for _, x := range []struct {
		name string
		rank float64
		at   *float64
	}{{"p50", 0.5, l.P50}, {"p99", 0.99, l.P99}, {"p99.9", 0.999, l.P999}} {
		if report.NoPercentile(x.rank, x.at, n.Intended) == "" {
			c.Lines = append(c.Lines, Line{*x.at, x.name + " " + unit.Seconds(*x.at)})
		}
	}
	return c
}

// percentiles lists those of a load.
func percentiles(l result.LoadLatency, in result.LoadIntervals, n result.LoadCounts) *Block {
	t := &Table{Head: cols("percentile", "latency", "95% interval, by resampling runs")}
	for _, x := range []struct {
		name     string
		rank     float64
		v        *float64
		interval *result.LoadInterval
	}{{"p50", 0.5, l.P50, in.P50}, {"p90", 0.9, l.P90, in.P90}, {"p99", 0.99, l.P99, in.P99}, {"p99.9", 0.999, l.P999, in.P999}, {"max", 0, l.Max, nil}} {
		cells := []Cell{plain(x.name), plain(report.NoPercentile(x.rank, x.v, n.Intended)), plain("")}
		if cells[1].Text == "" {
			cells[1] = num(unit.Seconds(*x.v), *x.v)
			if i := x.interval; i != nil {
				cells[2] = plain(formatf("%s to %s", unit.Seconds(i.Lo), unit.Seconds(i.Hi)))
			}
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	if l.Max == nil && l.SlowestAnswer != nil {
		t.Rows = append(t.Rows, Row{Cells: []Cell{plain("slowest answer"), num(unit.Seconds(*l.SlowestAnswer), *l.SlowestAnswer), plain("")}})
	}
	t.dropEmpty()
	b := &Block{Key: true, Title: "Latency, from the intended start", Tables: []*Table{t}}
	if c := tailChart(l, n); c != nil {
		b.Charts = []*Chart{c}
	}
	return b
}
