package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// What decides when to stop must not see which of two is larger: swapping them in any
// rounds leaves Detectable as it is.
func TestDetectableSeesNoSigns(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 30).Draw(t, "n")
		a, b, x, y := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			v := rapid.Float64Range(0.5, 2)
			a[i], b[i] = v.Draw(t, "a"), v.Draw(t, "b")
			if x[i], y[i] = a[i], b[i]; rapid.Bool().Draw(t, "swap") {
				x[i], y[i] = b[i], a[i]
			}
		}
		before, after := ComparePairs(a, b).Detectable(Alpha), ComparePairs(x, y).Detectable(Alpha)
		if before != after && math.Abs(before-after) > 1e-9 {
			t.Fatalf("%v, swapped %v", before, after)
		}
		before, after = PairDifferences(a, b).Detectable(Alpha), PairDifferences(x, y).Detectable(Alpha)
		if before != after && math.Abs(before-after) > 1e-9 {
			t.Fatalf("of differences: %v, swapped %v", before, after)
		}
	})
}

// A difference that is called detectable is found in about 8 of 10.
func TestDetectableIsDetected(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{10, 20, 50} {
		const trials = 500
		found := 0
		for range trials {
			a, b := make([]float64, n), make([]float64, n)
			for i := range n {
				a[i], b[i] = 1, math.Exp(0.05*rng.NormFloat64())
			}
			effect := math.Exp(ComparePairs(a, b).Detectable(Alpha))
			for i := range n {
				b[i] = effect * math.Exp(0.05*rng.NormFloat64())
			}
			if ComparePairs(a, b).Differs(Alpha) {
				found++
			}
		}
		if share := float64(found) / trials; share < 0.7 || share > 0.9 {
			t.Errorf("%d pairs: found in %.0f%%, want some 80%%", n, 100*share)
		}
	}
}

// Known goes by the interval as it is, however large the difference is.
func TestKnown(t *testing.T) {
	a, b := make([]float64, 12), make([]float64, 12)
	for i := range a {
		a[i], b[i] = 1, 2*(1+0.001*float64(i%3))
	}
	p := ComparePairs(a, b)
	if k := p.Known(Alpha); k > 0.002 {
		t.Errorf("known to %v", k)
	}
	if d := p.Detectable(Alpha); d < 0.1 {
		t.Errorf("detectable %v: sizes alone cannot tell it from noise", d)
	}
	if few := ComparePairs(a[:3], b[:3]); !math.IsInf(few.Known(Alpha), 1) || !math.IsInf(few.Detectable(Alpha), 1) {
		t.Error("3 pairs say something")
	}
}

// Where most pairs are alike, the few that are not decide what could be seen: the
// interval must not be wider than what is said to be detectable.
func TestDetectableOfFewDifferences(t *testing.T) {
	a, b := make([]float64, 10), make([]float64, 10)
	for i := range a {
		a[i], b[i] = 1, 1
	}
	b[1], b[4], b[7] = 1.9, 1.9, 2
	p := ComparePairs(a, b)
	if d, k := p.Detectable(Alpha), p.Known(Alpha); d < k {
		t.Errorf("detectable %v, but known to %v only", d, k)
	}
}

func TestPairDifferences(t *testing.T) {
	base := []float64{0, 0, 0, 0, 0, 0, 0, 0}
	values := []float64{5, 5, 6, 4, 5, 5, 7, 3}
	d := PairDifferences(base, values)
	if d.N != 8 || d.Shift != 5 || !d.Differs(Alpha) {
		t.Errorf("%+v", d)
	}
	if lo, hi, ok := d.Interval(Alpha); !ok || lo < 3 || lo > 5 || hi < 5 || hi > 7 {
		t.Errorf("%v to %v, %v", lo, hi, ok)
	}
	if d := PairDifferences(base, base); d.Shift != 0 || d.P != 1 || d.Differs(Alpha) || d.Detectable(Alpha) != 0 {
		t.Errorf("of the same: %+v", d)
	}
	if d := PairDifferences(nil, nil); d.N != 0 || !math.IsNaN(d.Shift) || d.Differs(Alpha) {
		t.Errorf("of none: %+v", d)
	}
}
