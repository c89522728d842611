package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/internal/base/unit"
)

// write writes all tables.
func write(w io.Writer, f *File) error {
	out := &errWriter{w: w}
	if !slices.ContainsFunc(f.Services, func(s *Service) bool { return len(s.Arms) > 0 }) {
		for _, s := range f.Services {
			notes(out, s)
		}
		return out.err
	}
	t := table.New(out, "service, limit, rate", "arm", "p50", "p99", "p99.9", "p99 against default", "CPU per request", "against default",
		"peak RSS", "cgroup peak", "throttled", "OOM kills", "late, failed runs", "failed requests", "GCs/s", "GC CPU")
	var all []measured
	for _, s := range f.Services {
		m := measured{s, make(map[string]figures)}
		for _, a := range s.Arms {
			m.of[a.Name] = newFigures(a, s.Arms[0])
			row(t, s, a, m.of[a.Name])
		}
		if len(s.Arms) > 0 {
			all = append(all, m)
		}
	}
	fmt.Fprintf(out, "\nMedians of %s, percentiles of all requests together; brackets are 95%% intervals, or ranges where runs are few.\n", roundsOf(all))
	for _, s := range f.Services {
		notes(out, s)
	}
	for _, m := range all {
		fmt.Fprintf(out, "\n%s\n", blame(m))
		for _, a := range m.Arms {
			if text := delayed(a); text != "" {
				fmt.Fprintf(out, "  %s: %s\n", a.Name, text)
			}
		}
	}
	fmt.Fprintln(out)
	goals(table.New(out, "goal", "met"), all)
	return out.err
}

// roundsOf says how many rounds the services have.
func roundsOf(all []measured) string {
	least, most := math.MaxInt, 0
	for _, s := range all {
		n := s.rounds()
		least, most = min(least, n), max(most, n)
	}
	if least < most {
		return fmt.Sprintf("%d to %d rounds", least, most)
	}
	return unit.Plural(most, "round")
}

func notes(w io.Writer, s *Service) {
	if s.Stopped != "" {
		how := "not measured"
		if len(s.Arms) > 0 {
			how += " to the end"
		}
		fmt.Fprintf(w, "\n%s: %s: %s.\n", s.Name, how, s.Stopped)
	}
	if len(s.Arms) > 0 && s.Duration > 0 {
		fmt.Fprintf(w, "\n%s: %s, loads of %v s after %v s.\n", s.Name, unit.Plural(s.rounds(), "round"), s.Duration, s.Warmup)
	}
	if s.RateText != "" {
		fmt.Fprintf(w, "\n%s: %s.\n", s.Name, s.RateText)
	}
	if t := s.Tune; t != nil {
		if t.Setting != nil {
			fmt.Fprintf(w, "\n%s: folio tune recommends %s (%s, in %s).\n", s.Name, t.Arm, t.State, unit.ElapsedSeconds(t.Seconds))
		} else {
			fmt.Fprintf(w, "\n%s: folio tune has no answer: %s.\n", s.Name, t.Error)
		}
	}
}

// row writes an arm.
func row(t *table.Table, s *Service, a *Arm, f figures) {
	p50, p99, p999 := "-", "-", "-"
	requests := "-"
	if m := f.merged; m != nil {
		p50, p99, p999 = latency(m.Latency.P50, m.Intervals.P50), latency(m.Latency.P99, m.Intervals.P99), latency(m.Latency.P999, m.Intervals.P999)
		requests = fmt.Sprintf("%s of %s", unit.Number(m.Failed), unit.Number(m.Intended))
	}
	other := fmt.Sprintf("%d, %d", a.Late, f.failed)
	if f.failed > 0 {
		other += " (" + f.failure + ")"
	}
	against := func(r stat.Summary) string {
		if a.Name == nameDefault {
			return "1"
		}
		return ratio(r)
	}
	t.Row(fmt.Sprintf("%s, %s, %s/s", s.Name, unit.Exact(s.Limit), unit.Count(s.Rate)), a.Name, p50, p99, p999, against(f.p99),
		text(f.cpu, unit.Seconds), against(f.perCPU), text(f.rss, unit.Bytes), text(f.group, unit.Bytes), text(f.throttled, unit.Percent),
		fmt.Sprintf("%d of %d", f.kills, len(a.Runs)), other, requests, text(f.cycles, unit.Rate), known(f.gc, unit.Percent))
}

// latency is a percentile with its interval.
func latency(v *float64, i *load.Interval) string {
	text := seconds(v)
	if i != nil {
		text += fmt.Sprintf(" [%s, %s]", unit.Seconds(i.Lo), unit.Seconds(i.Hi))
	}
	return text
}

// seconds is a percentile; one that falls among failed requests is not known.
func seconds(v *float64) string {
	if v == nil {
		return "failed"
	}
	return unit.Seconds(*v)
}

func text(s stat.Summary, format func(float64) string) string {
	if s.N == 0 {
		return "-"
	}
	return format(s.Median)
}

func known(v *float64, format func(float64) string) string {
	if v == nil {
		return "-"
	}
	return format(*v)
}

func ratio(r stat.Summary) string {
	if r.N == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2fx [%.2f, %.2f]", r.Median, r.Lo, r.Hi)
}

// errWriter keeps the first error.
type errWriter struct {
	w   io.Writer
	err error
}

func (e *errWriter) Write(p []byte) (int, error) {
	if e.err == nil {
		_, e.err = e.w.Write(p)
	}
	return len(p), nil
}
