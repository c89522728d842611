package trial

import (
	"fmt"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/trial/load"
	"github.com/foliomem/folio/internal/trial/metric"
)

// LateRepeats is how often a search or a comparison repeats a run in which the load
// generator was late.
const LateRepeats = 3

// Late says that the load generator was late: the latencies are not the server's.
func (s *Sample) Late() bool { return s.Load != nil && s.Load.Late }

// OfLoad returns what a metric of a load is in the sample. A percentile that falls among
// failed requests is not known.
func (s *Sample) OfLoad(name string) (float64, bool) {
	if s.Load == nil {
		return 0, false
	}
	l := &s.Load.Latency
	switch name {
	case metric.P50:
		return value(l.P50)
	case metric.P99:
		return value(l.P99)
	case metric.P999:
		return value(l.P999)
	case metric.CPUPerRequest:
		return value(s.CPUPerRequest)
	}
	return 0, false
}

// setCPUPerRequest derives what a request costs. The CPU time of an interrupted load has
// requests in it that were not answered.
func (s *Sample) setCPUPerRequest() {
	s.CPUPerRequest = nil
	if s.Load != nil && s.Load.Succeeded > 0 && s.Load.Complete {
		s.CPUPerRequest = new(s.CPU / float64(s.Load.Succeeded))
	}
}

// setLoad derives what follows from the load, and says why the trial does not count.
func (s *Sample) setLoad(spec *metric.Spec) {
	s.setCPUPerRequest()
	if s.Load == nil || s.Failure != "" {
		return
	}
	l := s.Load
	switch {
	case l.Late:
		s.Failure = lateText(l)
	case l.Intended > 0 && l.Succeeded == 0:
		s.Failure = "no request succeeded" + firstError(l)
	case spec != nil && spec.OfLoad() && spec.Name != metric.CPUPerRequest:
		if _, ok := s.OfLoad(spec.Name); !ok && l.Intended > 0 {
			s.Failure = fmt.Sprintf("metric %s: it falls among failed requests: %s of %s failed%s", spec.Name,
				unit.Count(float64(l.Failed)), unit.Count(float64(l.Intended)), firstError(l))
		}
	}
}

func lateText(l *load.Result) string {
	return fmt.Sprintf("the load generator was late: the 99th percentile of its starts by %s, where %s is allowed: give generator and server CPUs of their own, or lower the rate",
		unit.Seconds(*l.Lateness.P99), unit.Seconds(l.Lateness.Bound))
}

// firstError says how requests failed, where there is a text of it.
func firstError(l *load.Result) string {
	switch f := l.Failures; {
	case len(l.Errors) > 0:
		return " (" + l.Errors[0].Text + ")"
	case f.Timeout > 0:
		return " (not answered in time)"
	case f.NotSent > 0:
		return " (not sent: too many under way)"
	}
	return ""
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
