package report

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// none stands in tables for what was not measured.
const none = unit.None

// Metric prints a value of what is optimized.
func Metric(spec *result.Metric, v float64) string {
	switch {
	case math.IsNaN(v):
		return none
	case spec.Name == result.MetricBench:
		return unit.Seconds(v / 1e9)
	case spec.Pattern == nil:
		return unit.Seconds(v)
	}
	return unit.Scaled(v)
}
