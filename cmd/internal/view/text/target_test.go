package text

import (
	"math"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
)

func TestTargetValue(t *testing.T) {
	s := goSample(1)
	for _, tt := range []struct {
		target *result.Target
		want   float64
	}{
		{nil, s.Wall}, {&result.Target{Name: "wall"}, s.Wall}, {&result.Target{Name: "cpu"}, s.CPU}, {&result.Target{Name: "op/s"}, 1250},
		{&result.Target{Name: "ns/op", Benchmarks: []string{"Insert-2 ns/op"}}, 800},
	} {
		if v, ok := tt.target.Value(s); !ok || math.Abs(v-tt.want) > 1e-9 {
			t.Errorf("%+v: %v, %v, want %v", tt.target, v, ok, tt.want)
		}
		if _, ok := tt.target.Value(failedSample(1)); ok {
			t.Errorf("%+v: a failed sample counts", tt.target)
		}
	}
	for _, absent := range []*result.Target{{Name: "none"}, {Name: "ns/op", Benchmarks: []string{"Gone-2 ns/op"}}} {
		if v, ok := absent.Value(s); ok {
			t.Errorf("%+v: %v", absent, v)
		}
	}
}
