package unit

import (
	"math"
	"strings"
	"testing"
	"time"
)

func TestFormats(t *testing.T) {
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
		{"below a nanosecond", Seconds, 0.25e-9, "0.2500ns"},
		{"no time", Seconds, 0, "0s"},
		{"unknown time", Seconds, nan, "-"},
		{"endless", Seconds, math.Inf(1), "-"},
		{"bytes", Bytes, 512, "512.0B"},
		{"below a mebibyte", Bytes, 1020 << 10, "1020.0KiB"},
		{"kibibytes", Bytes, 4096, "4.000KiB"},
		{"mebibytes", Bytes, 48.2 * (1 << 20), "48.20MiB"},
		{"gibibytes", Bytes, 3 << 30, "3.000GiB"},
		{"no bytes", Bytes, 0, "0B"},
		{"unknown size", Bytes, nan, "-"},
		{"zero", Count, 0, "0"},
		{"hundreds", Count, 999, "999"},
		{"thousands", Count, 1000, "1,000"},
		{"many", Count, 76886, "76,886"},
		{"rounded", Count, 999.5, "1,000"},
		{"negative thousands", Count, -1234, "-1,234"},
		{"unknown count", Count, nan, "-"},
		{"percent", Percent, 0.1424, "14.2%"},
		{"all", Percent, 1, "100.0%"},
		{"little", Percent, 0.0004, "0.0%"},
		{"unknown part", Percent, nan, "-"},
		{"more", Change, 1.25, "+25.0%"},
		{"less", Change, 0.688, "-31.2%"},
		{"the same", Change, 1, "+0.0%"},
		{"much more", Change, 2.546, "+155%"},
		{"unknown change", Change, nan, "-"},
		{"ratio", Ratio, 1.534, "1.53x"},
		{"just below ten", Ratio, 9.996, "10x"},
		{"large ratio", Ratio, 12.4, "12x"},
		{"spread", Spread, 0.021, "± 3%"},
		{"rate", Rate, 2.54, "2.5"},
		{"just below ten a second", Rate, 9.96, "10"},
		{"high rate", Rate, 14999.3, "14,999"},
		{"plain", Scaled, 1250, "1.250k"},
	} {
		if got := tt.format(tt.in); got != tt.want {
			t.Errorf("%s: %v is %q, want %q", tt.name, tt.in, got, tt.want)
		}
	}
}

func TestOf(t *testing.T) {
	for _, c := range []struct {
		n    int
		noun string
		want string
	}{
		{0, "run", "0 runs"}, {1, "run", "1 run"}, {2, "run", "2 runs"}, {1, "process", "1 process"}, {2, "process", "2 processes"},
		{999, "page fault", "999 page faults"}, {1000, "run", "1,000 runs"}, {1234567, "run", "1,234,567 runs"}, {-1, "run", "-1 runs"},
	} {
		if got := Plural(c.n, c.noun); got != c.want {
			t.Errorf("%d %s: %q, want %q", c.n, c.noun, got, c.want)
		}
	}
}

func TestNumber(t *testing.T) {
	for n, want := range map[int64]string{0: "0", 100: "100", -100: "-100", -1000: "-1,000", -123456: "-123,456",
		math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestDurations(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Span(9 * time.Minute), "9m"}, {Span(90 * time.Second), "1m30s"}, {Span(2 * time.Hour), "2h"},
		{Span(500 * time.Millisecond), "500ms"}, {Span(0), "0s"},
		{About(201 * time.Millisecond), "300ms"}, {About(1001 * time.Millisecond), "2s"}, {About(9500 * time.Millisecond), "10s"},
		{About(31 * time.Second), "40s"}, {About(3*time.Minute + 1), "4m"}, {About(150 * time.Minute), "3h"}, {About(49 * time.Hour), "days"},
		{Elapsed(158*time.Second + 40*time.Millisecond), "2m38s"}, {Elapsed(1280 * time.Millisecond), "1.3s"},
		{Duration(1500 * time.Millisecond), "1.500s"},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

func checkMessage(t testing.TB, err error) {
	t.Helper()
	if text := err.Error(); text == "" || strings.ContainsAny(text, "\n\r") {
		t.Errorf("the error is not one line: %q", text)
	}
}
