package trial

import (
	"context"
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/unit"
)

// LateRepeats is how often a search or a comparison repeats a run in which the load
// generator was late.
const LateRepeats = 3

// A FailureKind says what kind a failure is, where that decides what becomes of the trial.
type FailureKind string

const (
	// FailedLate: the load generator was late.
	FailedLate FailureKind = "late_generator"
	// FailedInterrupted: a signal ended the trial of a server. It has what folio's load found
	// until then.
	FailedInterrupted FailureKind = "interrupted"
	// FailedGuardrail: a setting of a running process broke a guardrail and was left at once.
	FailedGuardrail FailureKind = "guardrail"
)

// lateFailure is the failure of a trial in which the load generator was late, in words.
const lateFailure = "the load generator was late"

// Late says that a trial does not count because the load generator was late: the latencies
// are not the server's. A server that failed by itself (an OOM kill) failed, late or not; a
// load that was interrupted does not count anyway.
func (s *Sample) Late() bool {
	return s.Load != nil && s.Load.Late && s.Load.Complete && (s.Failure == "" || s.FailureKind == FailedLate)
}

// Latencies are the figures of a load by folio: percentiles, nil where they fall among
// failed requests, and CPU divided by the requests that succeeded.
type Latencies struct {
	P50           *float64 `json:"p50_seconds,omitempty"`
	P99           *float64 `json:"p99_seconds,omitempty"`
	P999          *float64 `json:"p999_seconds,omitempty"`
	CPUPerRequest *float64 `json:"cpu_per_request_seconds,omitempty"`
}

// Requests are those of a running process, as its own counters or folio's load tell.
type Requests struct {
	Count  float64  `json:"count"`
	Errors float64  `json:"errors"` // of those
	P50    *float64 `json:"p50_seconds"`
	P99    *float64 `json:"p99_seconds"`
}

// SetRequests sets the requests of a sample, and what follows from them.
func (s *Sample) SetRequests(r *Requests) {
	s.Requests = r
	s.setLatencies()
}

// OfLoad returns what a metric of a load is in the sample.
func (s *Sample) OfLoad(name string) (float64, bool) {
	if s.Latencies == nil {
		return 0, false
	}
	return s.Latencies.of(name)
}

func (l *Latencies) of(name string) (float64, bool) {
	switch name {
	case metric.P50:
		return value(l.P50)
	case metric.P99:
		return value(l.P99)
	case metric.P999:
		return value(l.P999)
	case metric.CPUPerRequest:
		return value(l.CPUPerRequest)
	}
	return 0, false
}

// setLatencies derives the figures of the load. The CPU time of an interrupted load has
// requests in it that were not answered.
func (s *Sample) setLatencies() {
	s.Latencies = nil
	if r := s.Requests; r != nil && s.Load == nil {
		s.Latencies = &Latencies{P50: r.P50, P99: r.P99}
		if r.Count > 0 {
			s.CPUPerRequest = new(s.CPU / r.Count)
		}
	}
	if s.Load == nil {
		return
	}
	l := s.Load.Latency
	s.Latencies = &Latencies{P50: l.P50, P99: l.P99, P999: l.P999}
	if s.Load.Succeeded > 0 && s.Load.Complete {
		s.CPUPerRequest = new(s.CPU / float64(s.Load.Succeeded))
	}
}

// setLoad derives what follows from the load, and says why the trial does not count.
func (s *Sample) setLoad(spec *metric.Spec) {
	s.setLatencies()
	if s.Load == nil || s.Failure != "" {
		return
	}
	l, unusable := s.Load, s.Load.Unusable()
	switch {
	case l.Late && (unusable == "" || !l.Answerless()):
		s.Failure, s.FailureKind = lateText(l), FailedLate
	case unusable != "":
		s.Failure = unusable
	case spec != nil && spec.OfLoad() && spec.Name != metric.CPUPerRequest:
		if _, ok := s.OfLoad(spec.Name); !ok && l.Intended > 0 {
			s.Failure = fmt.Sprintf("metric %s: it falls among failed requests: %s", spec.Name, l.FailedText(&l.Settings, l.Errors))
		}
	}
}

// WithoutSeries returns the sample without what it was doing over time.
func (s *Sample) WithoutSeries() *Sample {
	bare := *s
	bare.Series = nil
	if bare.Load != nil {
		l := *bare.Load
		l.OverTime = nil
		bare.Load = &l
	}
	return &bare
}

// FindRate searches the rate of the load that folio puts on the server under a setting:
// see [load.FindRate]. Each step is a trial of its own.
func (p *Program) FindRate(ctx context.Context, set Setting, progress func(load.RateStep)) (*load.RateSearch, error) {
	quiet := *p
	quiet.Metric, quiet.Stdout, quiet.Stderr, quiet.Signals = nil, nil, nil, nil
	return load.FindRate(ctx, load.RateOptions{Progress: progress,
		Measure: func(ctx context.Context, rate float64, d time.Duration) (*load.Result, string, error) {
			o := *p.Server.Generator
			o.Rate, o.Duration, o.Warmup = rate, d, load.RateWarmup
			server := *p.Server
			server.Generator, quiet.Server = &o, &server
			s, err := quiet.Run(ctx, set, Request{})
			switch {
			case err != nil:
				return nil, "", err
			case s.Load == nil:
				if line := s.Reason(); line != "" {
					return nil, s.Failure + ": " + line, nil
				}
				return nil, s.Failure, nil
			}
			return s.Load, s.Failure, nil
		}})
}

func lateText(l *load.Result) string {
	return fmt.Sprintf(lateFailure+": 1 in 100 requests started more than %s late, where %s is allowed; lower the rate, or give generator and server CPUs of their own",
		unit.Seconds(*l.Lateness.P99), unit.Seconds(l.Lateness.Bound))
}

// LateNote says in which runs of samples, dropped ones included, the generator was late,
// and by how much at most; "" for none.
func LateNote(samples []*Sample) string {
	worst := 0.0
	for _, s := range samples {
		for _, l := range s.LateBefore {
			worst = max(worst, l)
		}
		if s.Late() && s.Load.Lateness.P99 != nil {
			worst = max(worst, *s.Load.Lateness.P99)
		}
	}
	if worst == 0 {
		return ""
	}
	return lateFailure + ": in the worst run 1 in 100 requests started more than " + unit.Seconds(worst) + " late"
}

// repeatNote says how many runs of samples were repeated because the generator was late; ""
// for none.
func repeatNote(samples []*Sample) string {
	n := 0
	for _, s := range samples {
		n += len(s.LateBefore)
	}
	if n == 0 {
		return ""
	}
	return unit.Plural(n, "run") + " dropped and repeated: " + LateNote(samples)
}

// Loads returns the loads of the samples that count.
func Loads(samples []*Sample) (out []*load.Result) {
	for _, s := range samples {
		if s.OK() && s.Load != nil {
			out = append(out, s.Load)
		}
	}
	return out
}

// percentiles are the figures that are of the requests pooled over all runs.
var percentiles = map[string]string{"p50_seconds": metric.P50, "p99_seconds": metric.P99, "p999_seconds": metric.P999}

// centerOfLoad returns a percentile of the requests of all samples that count.
func centerOfLoad(samples []*Sample, name string) (float64, bool) {
	m, err := load.Pool(Loads(samples)...)
	if err != nil {
		return 0, false
	}
	l := Latencies{P50: m.Latency.P50, P99: m.Latency.P99, P999: m.Latency.P999}
	return l.of(name)
}

// CenterOf is what a metric of a load is in the samples that count: a percentile of all
// their requests together, else the median.
func CenterOf(samples []*Sample, name string) (float64, bool) {
	if name != metric.CPUPerRequest {
		return centerOfLoad(samples, name)
	}
	return FigureOf("cpu_per_request_seconds").Center(samples)
}

// MergedLoad puts the loads of the samples that count together: percentiles are those of
// all their requests, with intervals by resampling runs. Nil where there is none, or they
// are of different loads.
func MergedLoad(samples []*Sample) *load.Merged {
	m, err := load.Merge(Loads(samples)...)
	if err != nil {
		return nil
	}
	return m
}
