package stat

import (
	"math"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// exps makes pairs whose log ratios are d.
func exps(d ...float64) (base, values []float64) {
	for _, x := range d {
		base, values = append(base, 1), append(values, math.Exp(x))
	}
	return base, values
}

// Hamilton's depression scores of nine patients before and after a tranquilizer:
// example 3.1 of Hollander and Wolfe, and of R's help for wilcox.test, which give
// T+ = 5 (P = 0.0195 one-sided), the estimate -0.46 and the 96% interval (-0.786, -0.010).
func TestPairedKnown(t *testing.T) {
	before := []float64{1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30}
	after := []float64{0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29}
	d := make([]float64, len(before))
	for i := range d {
		d[i] = after[i] - before[i]
	}
	p := ComparePairs(exps(d...))
	if want := 2 * 0.01953125; math.Abs(p.P-want) > 1e-12 {
		t.Errorf("p = %v, want %v", p.P, want)
	}
	if got := math.Log(p.Ratio); math.Abs(got+0.46) > 1e-9 {
		t.Errorf("estimate %v, want -0.46", got)
	}
	lo, hi, ok := p.Interval(0.04)
	if !ok || math.Abs(math.Log(lo)+0.786) > 1e-9 || math.Abs(math.Log(hi)+0.010) > 1e-9 {
		t.Errorf("interval %v, %v, want -0.786, -0.010", math.Log(lo), math.Log(hi))
	}
}

// Critical values of the tables of the signed-rank test (Hollander and Wolfe, table
// A.4; the same as qsignrank of R): the largest sum that rejects at the level, two-sided.
func TestSignedRankTable(t *testing.T) {
	for _, c := range []struct {
		n     int
		alpha float64
		want  int
	}{
		{5, 0.05, -1}, {6, 0.05, 0}, {7, 0.05, 2}, {8, 0.05, 3}, {9, 0.05, 5}, {10, 0.05, 8}, {12, 0.05, 13},
		{15, 0.05, 25}, {20, 0.05, 52}, {25, 0.05, 89}, {50, 0.05, 434},
		{7, 0.01, -1}, {8, 0.01, 0}, {10, 0.01, 3}, {20, 0.01, 37},
	} {
		if got := signedRankQuantile(c.n, c.alpha/2); got != c.want {
			t.Errorf("%d pairs at %v: %d, want %d", c.n, c.alpha, got, c.want)
		}
	}
	// The approximation goes on where the exact distribution ends.
	exact, near := signedRankQuantile(exactPairs, 0.025), signedRankQuantile(exactPairs+1, 0.025)
	if near <= exact || near > exact+exactPairs {
		t.Errorf("%d pairs: %d, one more: %d", exactPairs, exact, near)
	}
}

// The p-value is that of all ways to flip the signs, ties and zeros or not.
func TestSignedRankAgainstAllFlips(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		whole := rapid.SliceOfN(rapid.IntRange(-4, 4), 1, 9).Draw(t, "d")
		var d []float64
		for _, x := range whole {
			if x != 0 {
				d = append(d, float64(x))
			}
		}
		// The mean rank of |x| among all, by counting.
		rank := func(x float64) (r float64) {
			for _, y := range d {
				switch {
				case math.Abs(y) < math.Abs(x):
					r++
				case math.Abs(y) == math.Abs(x):
					r += 0.5
				}
			}
			return r + 0.5
		}
		sum := func(signs int) (up float64) {
			for i, x := range d {
				if signs>>i&1 == 1 {
					up += rank(x)
				}
			}
			return up
		}
		seen, total := 0.0, 0.0
		for _, x := range d {
			total += rank(x)
			if x > 0 {
				seen += rank(x)
			}
		}
		least, asExtreme := math.Min(seen, total-seen), 0
		for signs := range 1 << len(d) {
			if up := sum(signs); math.Min(up, total-up) <= least+1e-9 {
				asExtreme++
			}
		}
		want := math.Min(1, float64(asExtreme)/float64(int(1)<<len(d)))
		var all []float64
		for _, x := range whole {
			all = append(all, float64(x))
		}
		// Where both tails meet, twice one tail is more than 1.
		if got := signedRank(all); math.Abs(got-want) > 1e-9 && !(got == 1 && want > 0.5) {
			t.Fatalf("p of %v: %v, want %v", whole, got, want)
		}
	})
}

// Without ties, the interval leaves 1 out exactly where the test rejects.
func TestIntervalAgreesWithTest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		d := make([]float64, 1+rng.IntN(15))
		shift := rng.NormFloat64()
		for i := range d {
			d[i] = shift + rng.NormFloat64()
		}
		p := ComparePairs(exps(d...))
		for _, alpha := range []float64{0.3, 0.05, 0.01} {
			if p.Differs(alpha) != (p.P <= alpha) {
				t.Fatalf("%v: p = %v, but differs at %v is %v", d, p.P, alpha, p.Differs(alpha))
			}
		}
		lo, hi, ok := p.Interval(0.3)
		if ok && (p.Ratio < lo || p.Ratio > hi) {
			t.Fatalf("%v: %v is outside of %v to %v", d, p.Ratio, lo, hi)
		}
	}
}

// The interval misses no more often than it may, whatever the tails.
func TestPairedCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const races, n = 4000, 10
	missed := 0
	for range races {
		d := make([]float64, n)
		for i := range d {
			d[i] = 0.3 + rng.NormFloat64()*math.Exp(2*rng.Float64()*rng.Float64()*rng.NormFloat64())
		}
		if lo, hi, ok := ComparePairs(exps(d...)).Interval(0.05); !ok || lo > math.Exp(0.3) || hi < math.Exp(0.3) {
			missed++
		}
	}
	// 0.049 is exact for ten pairs; four standard deviations of counting are 55.
	if missed > races/20+55 || missed < races/20-65 {
		t.Errorf("%d of %d intervals miss", missed, races)
	}
}

func TestPairedLittle(t *testing.T) {
	none := ComparePairs([]float64{0, 1, math.NaN()}, []float64{1, 0, 1})
	if none.N != 0 || !math.IsNaN(none.Ratio) || none.P != 1 || none.Differs(0.05) {
		t.Errorf("nothing: %+v", none)
	}
	five := ComparePairs([]float64{2, 2, 2, 2, 2}, []float64{1, 1, 1, 1, 1})
	if _, _, ok := five.Interval(0.05); ok || five.P != 2.0/32 || five.Ratio != 0.5 {
		t.Errorf("five pairs cannot be different at 0.05: %+v", five)
	}
	six := ComparePairs([]float64{2, 2, 2, 2, 2, 2}, []float64{1, 1, 1, 1, 1, 1})
	if lo, hi, ok := six.Interval(0.05); !ok || lo != 0.5 || hi != 0.5 || six.P != 2.0/64 {
		t.Errorf("six pairs, all the same: %+v", six)
	}
	if same := ComparePairs([]float64{1, 2, 3}, []float64{1, 2, 3}); same.P != 1 || same.Ratio != 1 {
		t.Errorf("no difference: %+v", same)
	}
}

// p-values and levels of an example: at 0.05, 0.005 and 0.011 fall to 0.05/4 and
// 0.05/3, 0.02 < 0.05/2 too, 0.04 < 0.05 last. With 0.03 in place of 0.02 it ends there.
func TestHolm(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		want []float64 // levels, times 1/0.05
		out  string
	}{
		{[]float64{0.04, 0.005, 0.02, 0.011}, []float64{1, 1. / 4, 1. / 2, 1. / 3}, "1111"},
		{[]float64{0.04, 0.005, 0.03, 0.011}, []float64{1. / 2, 1. / 4, 1. / 2, 1. / 3}, "0101"},
		{[]float64{0.5, 0.02}, []float64{1, 1. / 2}, "01"},
		{nil, nil, ""},
	} {
		levels := Holm(c.p, 0.05, func(i int, level float64) bool { return c.p[i] <= level })
		out := ""
		for i, l := range levels {
			if math.Abs(l/0.05-c.want[i]) > 1e-12 {
				t.Errorf("%v: level %d is %v, want %v", c.p, i, l, 0.05*c.want[i])
			}
			out += map[bool]string{true: "1", false: "0"}[c.p[i] <= l]
		}
		if out != c.out {
			t.Errorf("%v: rejected %s, want %s", c.p, out, c.out)
		}
	}
}
