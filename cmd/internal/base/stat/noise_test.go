package stat

import (
	"math"
	"math/rand/v2"
	"testing"
)

// What is called detectable is found in about 8 of 10 comparisons, and with the rounds
// that are said to be needed one of 5% is.
func TestNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const sd, rounds = 0.04, 20
	run := func(n int, factor float64) (a []float64) {
		for range n {
			a = append(a, factor*math.Exp(sd*rng.NormFloat64()))
		}
		return a
	}
	found := func(n int, difference float64) float64 {
		k := 0
		for range 400 {
			if ComparePairs(run(n, 1), run(n, 1+difference)).Differs(0.05) {
				k++
			}
		}
		return float64(k) / 400
	}
	n := NoiseOf(run(10001, 1))
	per := newNoise(rounds, sd*math.Sqrt2)
	if n == nil || math.Abs(n.Detectable/math.Expm1(math.Log1p(per.Detectable)*math.Sqrt(rounds/10001.0))-1) > 0.05 || !n.Quiet() {
		t.Fatalf("of 10,001 runs: %+v, of %d with their deviation: %+v", n, rounds, per)
	}
	if got := found(rounds, per.Detectable); got < 0.7 || got > 0.9 {
		t.Errorf("a difference of %.2f%% is found in %.0f%% of comparisons", 100*per.Detectable, 100*got)
	}
	if got := found(per.Needed, Wanted); got < 0.65 || got > 0.9 {
		t.Errorf("with %d rounds a difference of 5%% is found in %.0f%% of comparisons", per.Needed, 100*got)
	}
	if NoiseOf([]float64{1, 2, 3, 4}) != nil || NoiseOf([]float64{1, 1, 0, 1, -1, math.NaN()}) != nil || newNoise(9, math.Inf(1)) != nil {
		t.Error("noise of too few runs")
	}
	if n := NoiseOf([]float64{1, 1, 1, 1, 1, 1}); n == nil || n.Detectable != 0 || n.Needed != 6 {
		t.Errorf("runs that are all the same: %+v", n)
	}
	if n := NoiseOf([]float64{1, 2, 1, 2, 1, 2, 3}); n.Quiet() || n.Needed < 100 {
		t.Errorf("runs that differ: %+v", n)
	}
}
