package stat

import (
	"math"
	"testing"
)

// The values are those of R's prop.test without continuity correction.
func TestProportion(t *testing.T) {
	for _, c := range []struct{ p, n, lo, hi float64 }{
		{0.4, 1000, 0.3700797, 0.4306995},
		{0.5, 20, 0.2992980, 0.7007020},
		{0, 100, 0, 0.0369935},
		{1, 100, 0.9630065, 1},
		{0.02, 50, 0.0035395, 0.1050030},
	} {
		lo, hi := Proportion(c.p, c.n)
		if math.Abs(lo-c.lo) > 1e-4 || math.Abs(hi-c.hi) > 1e-4 {
			t.Errorf("%g of %g: [%.7f, %.7f], want [%.7f, %.7f]", c.p, c.n, lo, hi, c.lo, c.hi)
		}
	}
}
