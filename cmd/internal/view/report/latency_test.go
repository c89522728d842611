package report

import "testing"

// A percentile beyond which there is no request would be the maximum.
func TestNoPercentile(t *testing.T) {
	value := 0.01
	for _, c := range []struct {
		name     string
		rank     float64
		value    *float64
		requests int64
		want     string
	}{
		{"p99.9 of 999", 0.999, &value, 999, "too few requests"},
		{"p99.9 of 1000", 0.999, &value, 1000, ""},
		{"p99 of 99", 0.99, &value, 99, "too few requests"},
		{"p99 of 100", 0.99, &value, 100, ""},
		{"p50 of 2", 0.5, &value, 2, ""},
		{"the maximum of one", 0, &value, 1, ""},
		{"among failed requests", 0.99, nil, 1000, "failed"},
		{"of none", 0.99, nil, 0, none},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := NoPercentile(c.rank, c.value, c.requests); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
