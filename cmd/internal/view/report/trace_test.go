package report

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
)

// What the runtime counts is no figure beside samples, nor beside a CPU time that it exceeds.
func TestTraceCPUSays(t *testing.T) {
	sum := func(traced, cpu float64) *result.Summary {
		return &result.Summary{Figures: map[string]result.Interval{"gc_runtime_cpu_seconds": {N: 1, Median: traced}, "cpu_seconds": {N: 1, Median: cpu}}}
	}
	sampled := sum(0.3, 0.6)
	sampled.Pooled = map[string]result.Pooled{"gc_cpu_seconds": {N: 1, Pooled: 0.13}}
	for _, c := range []struct {
		name string
		sum  *result.Summary
		want bool
	}{{"less than all", sum(0.3, 0.6), true}, {"more than all", sum(0.6406, 0.5963), false}, {"sampled", sampled, false}, {"not traced", &result.Summary{}, false}} {
		if got := RuntimeCPUSays(c.sum); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
