package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Load prints what a load found. The percentiles stand last, each as "p99 12.35ms" on a
// line of its own, for programs that read them: folio tune --metric 'p99=p99 (\S+)'.
func Load(w io.Writer, f *result.Load) error {
	if err := sayRedacted(w, f.Header); err != nil {
		return err
	}
	p := &printer{w: w}
	s := f.Settings
	p.line("%s", requestText(&s))
	p.line("%s", arrivalsText(s))
	p.line("from %s %s, %s", f.Host.OS, f.Host.Kernel, unit.Plural(f.Host.CPUs, "CPU"))
	p.line("")
	if !f.Complete {
		p.line("Interrupted: what follows is of the requests until then.")
	}
	if f.Intended == 0 {
		p.line("Nothing was measured.")
		p.notes(numbered(f.Notes))
		return p.err
	}
	p.line("%s", countsText(f.Counts))
	p.more(failuresText(f.Failures.Kinds(&s, f.Errors))...)
	if len(f.Status) > 0 {
		p.line("%s", "Answers: "+tally(f.Status)+" by "+protocolsText(f.Protocols))
	}
	if len(f.Codes) > 0 {
		p.line("%s", "Status of gRPC: "+tally(f.Codes))
	}
	if l := f.Lateness; l.P99 != nil {
		p.line("Generator: starts late by %s (median), %s (99th percentile), %s (maximum); %s later than %s",
			unit.Seconds(*l.P50), unit.Seconds(*l.P99), unit.Seconds(*l.Max), unit.Number(l.LateStarts), unit.Span(result.LateStart))
	}
	if f.Late {
		longer := ""
		if a := f.Lateness.Added; a != nil {
			longer = ", and makes p99 longer by " + unit.Seconds(*a)
		}
		p.line("LATE: do not count these latencies. The 99th percentile of late starts is above %s%s. Give the generator a CPU of its own, or a lower --rate.",
			unit.Seconds(f.Lateness.Bound), longer)
	}
	p.section("Latency, from the intended start", percentilesText(f.Latency, result.LoadIntervals{}))
	p.notes(numbered(f.Notes))
	return p.err
}

// Loads prints several runs of one load together.
func Loads(w io.Writer, m *result.LoadMerged) error {
	p := &printer{w: w}
	p.line("Together: %s", unit.Plural(m.Runs, "run"))
	var out []string
	if m.LateRuns > 0 {
		out = append(out, fmt.Sprintf("%s left out: the generator was late", unit.Plural(m.LateRuns, "run")))
	}
	if m.PartialRuns > 0 {
		out = append(out, fmt.Sprintf("%s left out: interrupted", unit.Plural(m.PartialRuns, "run")))
	}
	p.more(out...)
	p.line("%s", countsText(m.Counts))
	p.more(failuresText(m.Failures.Kinds(nil, m.Errors))...)
	title := "Latency, from the intended start, 95% intervals by resampling runs"
	if m.Intervals == (result.LoadIntervals{}) {
		title = "Latency, from the intended start"
	}
	p.section(title, percentilesText(m.Latency, m.Intervals))
	return p.err
}

func arrivalsText(s result.LoadSettings) string {
	out := fmt.Sprintf("%s requests/s for %s, %s arrivals", rateText(s.Rate), unit.SpanSeconds(s.Duration), s.Arrivals)
	if s.Seed != nil {
		out += fmt.Sprintf(" (seed %d)", *s.Seed)
	}
	if s.Warmup > 0 {
		out += ", after " + unit.SpanSeconds(s.Warmup) + " of warm-up"
	}
	out += fmt.Sprintf("; timeout %s, at most %s in flight", unit.SpanSeconds(s.Timeout), unit.Number(int64(s.MaxInFlight)))
	if s.Connections != nil {
		out += ", " + unit.Plural(*s.Connections, "connection")
	}
	return out
}

// rateText prints a rate that was chosen, in full.
func rateText(v float64) string {
	if v == float64(int64(v)) {
		return unit.Number(int64(v))
	}
	return fmt.Sprint(v)
}

func countsText(c result.LoadCounts) string {
	out := fmt.Sprintf("%s: %s succeeded", unit.Plural(int(c.Intended), "request"), unit.Number(c.Succeeded))
	if c.Failed > 0 {
		out += fmt.Sprintf(", %s failed (%s)", unit.Number(c.Failed), unit.Percent(float64(c.Failed)/float64(c.Intended)))
	}
	return out
}

// failuresText lists the kinds of failures that there were.
func failuresText(kinds []result.LoadFailedKind) (out []string) {
	for _, k := range kinds {
		out = append(out, fmt.Sprintf("%7s  %s", unit.Number(k.Requests), k.Text))
	}
	return out
}

// tally lists counts by name.
func tally(m map[string]int64) string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, unit.Number(m[k])+" "+k)
	}
	return strings.Join(out, ", ")
}

func protocolsText(m map[string]int64) string {
	if len(m) > 1 {
		return tally(m)
	}
	return strings.Join(slices.Sorted(maps.Keys(m)), "")
}

// percentilesText lists percentiles. One that falls among failed requests is "failed".
func percentilesText(l result.LoadLatency, in result.LoadIntervals) (out []string) {
	for _, x := range []struct {
		name     string
		v        *float64
		interval *result.LoadInterval
	}{{"p50", l.P50, in.P50}, {"p90", l.P90, in.P90}, {"p99", l.P99, in.P99}, {"p99.9", l.P999, in.P999}, {"max", l.Max, nil}} {
		text := x.name + " failed"
		if x.v != nil {
			text = x.name + " " + unit.Seconds(*x.v)
		}
		if i := x.interval; i != nil {
			text += fmt.Sprintf(" [%s, %s]", unit.Seconds(i.Lo), unit.Seconds(i.Hi))
		}
		out = append(out, text)
	}
	if l.Max == nil && l.SlowestAnswer != nil {
		out = append(out, "slowest answer "+unit.Seconds(*l.SlowestAnswer))
	}
	return out
}
