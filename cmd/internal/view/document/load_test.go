package document

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
)

// The curve falls from the share of requests that took longer than the shortest to those that
// failed, which took longer than any.
func TestTailChart(t *testing.T) {
	var l result.LoadLatency
	n := result.LoadCounts{Intended: 100_000, Succeeded: 99_900, Failed: 100}
	for i := range 999 {
		l.Histogram.Nanoseconds = append(l.Histogram.Nanoseconds, int64(1e6+i*1e3))
		l.Histogram.Counts = append(l.Histogram.Counts, 100)
	}
	c := tailChart(l, n)
	if c == nil || len(c.Series[0].P) > 300 {
		t.Fatalf("%+v", c)
	}
	p := c.Series[0].P
	for i := range p[1:] {
		if p[i+1].X <= p[i].X || p[i+1].Y >= p[i].Y {
			t.Errorf("from %+v to %+v", p[i], p[i+1])
		}
	}
	if first, last := p[0], p[len(p)-1]; first.X != 0.001 || first.Y != 0.999 || last.Y != 0.001 {
		t.Errorf("from %+v to %+v", first, last)
	}
	l.Histogram.Nanoseconds, l.Histogram.Counts = l.Histogram.Nanoseconds[:1], l.Histogram.Counts[:1]
	if c := tailChart(l, result.LoadCounts{Intended: 100, Succeeded: 100}); c != nil {
		t.Errorf("of one time: %+v", c)
	}
}

// The first line has the highest percentile that there is.
func TestLoadAnswer(t *testing.T) {
	p50, p99 := new(0.001), new(0.25)
	for _, c := range []struct {
		p50, p99         *float64
		intended, failed int64
		want             string
	}{
		{p50, p99, 1000, 0, "p99 250.0ms (p50 1.000ms). 1,000 requests: 1,000 succeeded."},
		{p50, nil, 1000, 20, "p99 failed (p50 1.000ms). 1,000 requests: 980 succeeded, 20 failed (2.0%)."},
		{p50, p99, 20, 0, "p50 1.000ms (p99: too few requests). 20 requests: 20 succeeded."},
		{nil, nil, 20, 20, " 20 requests: 0 succeeded, 20 failed (100.0%)."},
	} {
		a := loadAnswer(result.LoadLatency{P50: c.p50, P99: c.p99}, result.LoadCounts{Intended: c.intended, Succeeded: c.intended - c.failed, Failed: c.failed})
		if got := a.Figure + " " + a.Text; got != c.want {
			t.Errorf("%q, want %q", got, c.want)
		}
	}
}
