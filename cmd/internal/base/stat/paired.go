package stat

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// A Paired compares measurements that were taken in pairs: the same round of two
// arms. What the machine did to a round cancels in its ratio.
//
// Ratio is the Hodges-Lehmann estimate: the exponential of the median of the
// averages of all pairs of log ratios. Test and interval are those of Wilcoxon's
// signed-rank test, exact for up to 200 pairs. The test needs nothing but
// symmetry, and where the order within rounds is random and the arms do not
// differ, log ratios are symmetric about 0 by design: whatever the machine does.
//
// Source: M. Hollander, D. A. Wolfe, E. Chicken, Nonparametric Statistical
// Methods, 3rd edition, 2014, sections 3.1 to 3.3.
type Paired struct {
	N     int     // pairs
	Ratio float64 // NaN without a pair
	P     float64 // two-sided, of no difference; 1 without a pair
	// Noise is how much log ratios vary: their median distance from their median,
	// scaled to the standard deviation of a normal distribution.
	Noise float64

	walsh []float64 // averages of pairs of log ratios, ascending
	sizes []float64 // of log ratios, without their signs
}

// ComparePairs compares values[i] with base[i]. Pairs with a figure that is not
// positive are left out.
func ComparePairs(base, values []float64) Paired {
	var d []float64
	for i := range min(len(base), len(values)) {
		if r := values[i] / base[i]; base[i] > 0 && r > 0 && !math.IsInf(r, 0) {
			d = append(d, math.Log(r))
		}
	}
	return newPaired(d)
}

// newPaired returns the comparison of pairs with these log ratios.
func newPaired(d []float64) Paired {
	p := Paired{N: len(d), Ratio: math.NaN(), P: 1}
	if len(d) == 0 {
		return p
	}
	p.walsh, p.sizes = make([]float64, 0, len(d)*(len(d)+1)/2), make([]float64, len(d))
	for i, x := range d {
		p.sizes[i] = math.Abs(x)
		for _, y := range d[:i+1] {
			p.walsh = append(p.walsh, (x+y)/2)
		}
	}
	slices.Sort(p.walsh)
	p.Ratio = math.Exp(middle(p.walsh))
	p.P = signedRank(d)
	slices.Sort(d)
	center := middle(d)
	for i := range d {
		d[i] = math.Abs(d[i] - center)
	}
	p.Noise = 1.4826 * medianOf(d)
	return p
}

// Interval bounds the ratio: both bounds together miss it with probability alpha
// at most. ok is false with too few pairs for that; then nothing is known.
func (p Paired) Interval(alpha float64) (lo, hi float64, ok bool) {
	c := signedRankQuantile(p.N, alpha/2)
	if p.N == 0 || c < 0 {
		return math.NaN(), math.NaN(), false
	}
	return math.Exp(p.walsh[c]), math.Exp(p.walsh[len(p.walsh)-1-c]), true
}

// Differs says whether the interval for alpha leaves 1 out.
func (p Paired) Differs(alpha float64) bool {
	lo, hi, ok := p.Interval(alpha)
	return ok && (lo > 1 || hi < 1)
}

// exactPairs is up to how many pairs the distribution is computed exactly; beyond
// it the normal approximation is as good as exact.
const exactPairs = 200

// signedRank returns the two-sided p-value of Wilcoxon's signed-rank test that d
// is symmetric about 0. Differences of 0 are left out, as Wilcoxon did. Ties take
// the mean of their ranks, and the distribution is that of these ranks: flipping
// each sign with probability one half.
func signedRank(d []float64) float64 {
	type one struct {
		size float64
		up   bool
	}
	var all []one
	for _, x := range d {
		if x != 0 {
			all = append(all, one{math.Abs(x), x > 0})
		}
	}
	if len(all) == 0 {
		return 1
	}
	slices.SortFunc(all, func(a, b one) int { return cmp.Compare(a.size, b.size) })
	ranks := make([]int, len(all)) // doubled: means of ranks are halves
	up, total, tied := 0, 0, false
	for i := 0; i < len(all); {
		j := i + 1
		for j < len(all) && all[j].size <= all[i].size*(1+1e-12) {
			j++
		}
		tied = tied || j > i+1
		for k := i; k < j; k++ {
			ranks[k] = i + 1 + j
			total += ranks[k]
			if all[k].up {
				up += ranks[k]
			}
		}
		i = j
	}
	least := min(up, total-up)
	switch n := len(all); {
	case n > exactPairs:
		squares := 0.0
		for _, r := range ranks {
			squares += float64(r) * float64(r)
		}
		return math.Min(1, 2*normalBelow((float64(least)+1-float64(total)/2)/(math.Sqrt(squares)/2)))
	case !tied:
		return math.Min(1, 2*signedRankBelow(n)[least/2])
	}
	p := 0.0
	for _, v := range flips(ranks)[:least+1] {
		p += v
	}
	return math.Min(1, 2*p)
}

// flips returns the distribution of the sum of those ranks whose coin shows heads.
func flips(ranks []int) []float64 {
	total := 0
	for _, r := range ranks {
		total += r
	}
	dist := make([]float64, total+1)
	dist[0] = 1
	sum := 0
	for _, r := range ranks {
		for i := sum; i >= 0; i-- {
			half := dist[i] / 2
			dist[i] = half
			dist[i+r] += half
		}
		sum += r
	}
	return dist
}

// cumulated holds, for each number of pairs, the distribution function of the
// signed-rank statistic without ties.
var cumulated struct {
	sync.Mutex
	of map[int][]float64
}

// signedRankQuantile returns the largest c for which at most c pairs' ranks speak
// one way with probability tail or less, -1 if even 0 is likelier.
func signedRankQuantile(n int, tail float64) int {
	if n > exactPairs {
		mean := float64(n) * float64(n+1) / 4
		deviation := math.Sqrt(mean * float64(2*n+1) / 6)
		return max(int(math.Floor(mean-0.5+deviation*normalQuantile(tail))), -1)
	}
	c, found := slices.BinarySearch(signedRankBelow(n), tail)
	if !found {
		c--
	}
	return c
}

// signedRankBelow returns the distribution function of the signed-rank statistic of
// n pairs without ties.
func signedRankBelow(n int) []float64 {
	cumulated.Lock()
	defer cumulated.Unlock()
	cdf := cumulated.of[n]
	if cdf == nil {
		ranks := make([]int, n)
		for i := range ranks {
			ranks[i] = i + 1
		}
		cdf = flips(ranks)
		for i := 1; i < len(cdf); i++ {
			cdf[i] += cdf[i-1]
		}
		if cumulated.of == nil {
			cumulated.of = make(map[int][]float64)
		}
		cumulated.of[n] = cdf
	}
	return cdf
}

func normalBelow(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func normalQuantile(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }

// Holm says at which level each of several hypotheses is to be judged, so that
// one or more of those that are true are rejected with probability alpha at most:
// alpha divided by how many are left, least p-value first, until one stands. An
// interval at that level agrees with the verdict. p holds p-values; rejects is
// asked with the index of a hypothesis and its level.
//
// Source: S. Holm, A simple sequentially rejective multiple test procedure,
// Scandinavian Journal of Statistics 6, 1979.
func Holm(p []float64, alpha float64, rejects func(i int, level float64) bool) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	levels := make([]float64, len(p))
	left, stands := len(p), false
	for _, i := range order {
		levels[i] = alpha / float64(left)
		if !stands && rejects(i, levels[i]) {
			left--
		} else {
			stands = true
		}
	}
	return levels
}

// middle returns the median of ascending values.
func middle(sorted []float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}
