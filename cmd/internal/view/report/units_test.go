package report

import (
	"math"
	"regexp"
	"testing"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

func TestMetric(t *testing.T) {
	own := &metric.Spec{Name: "op/s", Pattern: regexp.MustCompile("x")}
	for _, tt := range []struct {
		spec *metric.Spec
		in   float64
		want string
	}{
		{&metric.Spec{Name: metric.Wall}, 1.5, "1.500s"},
		{&metric.Spec{Name: metric.CPU}, 0.25, "250.0ms"},
		{&metric.Spec{Name: metric.Bench}, 1234, "1.234µs"},
		{own, 1100, "1.100k"},
		{own, 7, "7.000"},
		{own, math.NaN(), "-"},
		{&metric.Spec{Name: metric.Bench}, math.NaN(), "-"},
	} {
		if got := Metric(tt.spec, tt.in); got != tt.want {
			t.Errorf("%s %v: %q, want %q", tt.spec.Name, tt.in, got, tt.want)
		}
	}
}

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		name   string
		values []float64
		want   string
	}{
		{"nothing", nil, ""},
		{"too few", []float64{1, 2, 3}, ""},
		{"equal", []float64{5, 5, 5, 5, 5, 5}, "± 0%"},
		{"rounded up", []float64{100, 100, 100, 100, 100, 101}, "± 1%"},
		{"around zero", []float64{0, 0, 0, 0, 0, 0}, ""},
	} {
		if got := stat.Summarize(tt.values).SpreadText(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
