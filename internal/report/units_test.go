package report

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/stat"
)

func TestUnits(t *testing.T) {
	nan := math.NaN()
	for _, tt := range []struct {
		name   string
		format func(float64) string
		in     float64
		want   string
	}{
		{"seconds", Seconds, 1.2134, "1.213s"},
		{"milliseconds", Seconds, 0.0412, "41.20ms"},
		{"microseconds", Seconds, 3.5e-6, "3.500µs"},
		{"no time", Seconds, 0, "0s"},
		{"unknown time", Seconds, nan, "-"},
		{"bytes", Bytes, 512, "512.0B"},
		{"kibibytes", Bytes, 4096, "4.000KiB"},
		{"mebibytes", Bytes, 48.2 * (1 << 20), "48.20MiB"},
		{"gibibytes", Bytes, 3 << 30, "3.000GiB"},
		{"no bytes", Bytes, 0, "0B"},
		{"unknown size", Bytes, nan, "-"},
		{"zero", Count, 0, "0"},
		{"hundreds", Count, 999, "999"},
		{"thousands", Count, 1000, "1,000"},
		{"many", Count, 76886, "76,886"},
		{"millions", Count, 1234567, "1,234,567"},
		{"rounded", Count, 999.5, "1,000"},
		{"negative hundreds", Count, -123, "-123"},
		{"negative thousands", Count, -1234, "-1,234"},
		{"unknown count", Count, nan, "-"},
		{"percent", Percent, 0.1424, "14.2%"},
		{"all", Percent, 1, "100.0%"},
		{"little", Percent, 0.0004, "0.0%"},
		{"unknown part", Percent, nan, "-"},
	} {
		if got := tt.format(tt.in); got != tt.want {
			t.Errorf("%s: %v is %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

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
		if got := Spread(stat.Summarize(tt.values)); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestTable(t *testing.T) {
	tb := &table{left: map[int]bool{0: true}}
	tb.add("name", "", "n", "note")
	tb.add("µs", "", "10", "")
	tb.add("longer")
	var b strings.Builder
	if err := tb.write(&b, "> "); err != nil {
		t.Fatal(err)
	}
	want := "> name     n  note\n> µs      10\n> longer\n"
	if b.String() != want {
		t.Errorf("table:\n%swant:\n%s", b.String(), want)
	}
}
