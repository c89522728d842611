package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestTrendOf(t *testing.T) {
	line := func(n int, slope float64) (x, y []float64) {
		for i := range n {
			x, y = append(x, float64(i)), append(y, 7+slope*float64(i))
		}
		return x, y
	}
	x, y := line(20, 3)
	y[4], y[11] = 1000, -1000 // two that are far off
	got, ok := TrendOf(x, y)
	if !ok || got.Slope != 3 || got.N != 20 || got.Steady() || got.Lo > 3 || got.Hi < 3 {
		t.Errorf("%+v, %v", got, ok)
	}
	if got, ok := TrendOf(line(5, -2)); !ok || got.Slope != -2 || !math.IsInf(got.Lo, -1) || !math.IsInf(got.Hi, 1) || !got.Steady() {
		t.Errorf("%+v, %v: five values have an interval", got, ok)
	}
	if got, ok := TrendOf(line(6, -2)); !ok || got.Slope != -2 || got.Steady() {
		t.Errorf("%+v, %v", got, ok)
	}
	for _, x := range [][]float64{nil, {1}, {2, 2, 2}} {
		if got, ok := TrendOf(x, make([]float64, len(x))); ok {
			t.Errorf("%v: %+v", x, got)
		}
	}
	// Of noise without a trend about one interval in twenty has no 0 in it.
	r := rand.New(rand.NewPCG(1, 2))
	const tries = 400
	trends := 0
	for range tries {
		x, y := line(30, 0)
		for i := range y {
			y[i] = r.NormFloat64()
		}
		if got, _ := TrendOf(x, y); !got.Steady() {
			trends++
		}
	}
	if trends > tries/10 || trends == 0 {
		t.Errorf("%d trends in %d series without one", trends, tries)
	}
}
