package result

import (
	"fmt"
	"regexp"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// A Target is what was optimized.
type Target struct {
	Name       string   `json:"name" redact:"keep"`
	Pattern    string   `json:"pattern,omitempty" redact:"blank"`
	Higher     bool     `json:"higher_is_better"`
	Benchmarks []string `json:"benchmarks,omitempty" redact:"keep"`
}

// NewTarget returns the JSON form of a metric.
func NewTarget(spec *metric.Spec, benchmarks []string) *Target {
	if spec == nil {
		return nil
	}
	t := &Target{Name: spec.Name, Higher: spec.Higher}
	if spec.Pattern != nil {
		t.Pattern = spec.Pattern.String()
	}
	if spec.Name == metric.Bench {
		t.Benchmarks = benchmarks
	}
	return t
}

// OfLoad says that the metric is one of a load by --rate.
func (t *Target) OfLoad() bool {
	return t != nil && t.Pattern == "" && metric.IsOfLoad(t.Name)
}

// Value returns what was optimized in a sample, as the user knows it; wall time
// where nothing was named.
func (t *Target) Value(s *trial.Sample) (float64, bool) {
	switch {
	case !s.OK() || s.NoLoad:
		return 0, false
	case t == nil || t.Name == metric.Wall:
		return s.Wall, true
	case t.Name == metric.CPU:
		return s.CPU, true
	case t.OfLoad():
		return s.OfLoad(t.Name)
	case t.Name == metric.Bench:
		return metric.BenchMean(s.Metrics, t.Benchmarks)
	}
	v, ok := s.Metrics[t.Name]
	return v, ok
}

// Measured summarizes what was optimized in samples; nil where none has it.
func (t *Target) Measured(samples []*trial.Sample) *Interval {
	var values []float64
	for _, s := range samples {
		if v, ok := t.Value(s); ok {
			values = append(values, v)
		}
	}
	if len(values) == 0 {
		return nil
	}
	if t.OfLoad() {
		if i := intervalOfLoad(t.Name, samples); i != nil {
			return i
		}
	}
	i := newInterval(values)
	return &i
}

// Spec returns the metric as texts of it are made; wall time where nothing was named.
func (t *Target) Spec() *metric.Spec {
	if t == nil {
		return &metric.Spec{Name: metric.Wall}
	}
	out := &metric.Spec{Name: t.Name, Higher: t.Higher}
	if t.Name != metric.Wall && t.Name != metric.CPU && t.Name != metric.Bench && t.Name != metric.CPUPerGiB && !t.OfLoad() {
		out.Pattern = anything // only its presence counts: the unit is the user's own
	}
	return out
}

var anything = regexp.MustCompile("")

// Label names the metric as tables do.
func (t *Target) Label() string {
	switch {
	case t == nil || t.Name == metric.Wall:
		return figure.ByKey("wall_seconds").Label
	case t.Name == metric.CPU:
		return figure.ByKey("cpu_seconds").Label
	case t.Name != metric.Bench:
		return t.Name
	case len(t.Benchmarks) > 1:
		return fmt.Sprintf("time/op (%d)", len(t.Benchmarks))
	}
	return "time/op"
}
