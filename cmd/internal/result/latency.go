package result

import (
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// A LoadSummary is the loads of those runs of an arm that count, together.
type LoadSummary struct {
	// Runs count; where none does, the rest is of the last one.
	Runs int `json:"runs"`
	// LateRuns are those that do not count because the generator was late, Repeated those
	// that were dropped and run again for it.
	LateRuns int `json:"late_runs"`
	Repeated int `json:"repeated_runs"`
	load.Counts
	// Errors are the first of each kind of failure that has a text.
	Errors []load.ErrorText `json:"errors,omitempty"`
	// Percentiles are those of all their requests together.
	P50  Percentile `json:"p50_seconds"`
	P90  Percentile `json:"p90_seconds"`
	P99  Percentile `json:"p99_seconds"`
	P999 Percentile `json:"p999_seconds"`
}

// A Percentile is one of latencies, in seconds: null where it falls among failed requests.
// Its 95% interval is by resampling runs; null with fewer than 6.
type Percentile struct {
	Value *float64 `json:"value"`
	Lo    *float64 `json:"lo"`
	Hi    *float64 `json:"hi"`
}

// SummarizeLoads puts the loads of samples together; nil where none has any.
func SummarizeLoads(samples []*trial.Sample) *LoadSummary {
	out := &LoadSummary{}
	var last *load.Result
	for _, s := range samples {
		if s.Load != nil {
			last = s.Load
		}
		out.Repeated += len(s.LateBefore)
		if s.Late() {
			out.LateRuns++
		}
	}
	if last == nil {
		return nil
	}
	m := trial.MergedLoad(samples)
	if m == nil {
		m = &load.Merged{Counts: last.Counts, Errors: last.Errors, Latency: last.Latency}
	}
	out.Runs, out.Counts, out.Errors = m.Runs, m.Counts, m.Errors
	for _, x := range []struct {
		to    *Percentile
		value *float64
		in    *load.Interval
	}{
		{&out.P50, m.Latency.P50, m.Intervals.P50}, {&out.P90, m.Latency.P90, m.Intervals.P90},
		{&out.P99, m.Latency.P99, m.Intervals.P99}, {&out.P999, m.Latency.P999, m.Intervals.P999},
	} {
		x.to.Value = x.value
		if x.in != nil && x.value != nil {
			x.to.Lo, x.to.Hi = &x.in.Lo, &x.in.Hi
		}
	}
	return out
}

// of returns the percentile that a metric is; nil for none.
func (l *LoadSummary) of(name string) *Percentile {
	switch name {
	case metric.P50:
		return &l.P50
	case metric.P99:
		return &l.P99
	case metric.P999:
		return &l.P999
	}
	return nil
}

// intervalOfLoad is what is known of a percentile of all requests of samples; nil where
// the metric is none, or it is not known.
func intervalOfLoad(name string, samples []*trial.Sample) *Interval {
	l := SummarizeLoads(samples)
	if l == nil || l.of(name) == nil || l.of(name).Value == nil {
		return nil
	}
	p := l.of(name)
	return &Interval{N: l.Runs, Median: *p.Value, Lo: p.Lo, Hi: p.Hi, Confidence: stat.Confidence}
}
