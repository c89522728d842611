package report

import (
	"math"
	"strconv"

	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
)

// A Target is what was optimised.
type Target struct {
	Name       string   `json:"name"`
	Pattern    string   `json:"pattern,omitempty"`
	Higher     bool     `json:"higher_is_better"`
	Benchmarks []string `json:"benchmarks,omitempty"`
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

// Value returns what was optimised in a sample, as the user knows it; wall time
// where nothing was named.
func (t *Target) Value(s *trial.Sample) (float64, bool) {
	switch {
	case !s.OK():
		return 0, false
	case t == nil || t.Name == metric.Wall:
		return s.Wall, true
	case t.Name == metric.CPU:
		return s.CPU, true
	case t.Name == metric.Bench:
		return metric.BenchMean(s.Metrics, t.Benchmarks)
	}
	v, ok := s.Metrics[t.Name]
	return v, ok
}

// Rounds returns it by round.
func (t *Target) Rounds(samples []*trial.Sample) map[int]float64 {
	out := make(map[int]float64)
	for _, s := range samples {
		if v, ok := t.Value(s); ok {
			out[s.Round] = v
		}
	}
	return out
}

// Evened returns the metric of each arm less what the rounds did to it, on the
// scale of the first arm's median; NaN where that is not known. A search judges by
// it, so that a slow minute of the machine counts against no setting.
func (t *Target) Evened(arms ...[]*trial.Sample) []float64 {
	rounds := make(map[string]map[int]float64)
	for i, samples := range arms {
		rounds[strconv.Itoa(i)] = t.Rounds(samples)
	}
	effects := stat.Effects(rounds)
	var base []float64
	for _, s := range arms[0] {
		if v, ok := t.Value(s); ok {
			base = append(base, v)
		}
	}
	out := make([]float64, len(arms))
	for i := range arms {
		out[i] = math.NaN()
		if e, ok := effects[strconv.Itoa(i)]; ok && effects["0"] > 0 {
			out[i] = stat.Median(base) * e / effects["0"]
		}
	}
	return out
}
