package stat

import (
	"math"
	"slices"
)

// Power is how often a difference that is called detectable would be found.
const Power = 0.8

// Detectable returns the log ratio that pairs as noisy as these would tell from 0
// with probability Power, tested at alpha; infinite with too few pairs.
//
// It depends on the sizes of the log ratios alone, not on their signs. Where
// nothing differs, and the order within rounds is random, signs are fair coins
// whatever the sizes are, so the signed-rank test keeps its level at whatever
// moment a rule stops that only looks at Detectable. The price: a difference that
// is larger than the noise counts as noise; see [Paired.Known].
func (p Paired) Detectable(alpha float64) float64 {
	c := signedRankQuantile(p.N, alpha/2)
	if p.N == 0 || c < 0 {
		return math.Inf(1)
	}
	// The averages of pairs as they would be with either sign. Each average counts
	// four times, so that those of a value with itself have their weight.
	all := make([]float64, 0, 2*p.N*(p.N+1))
	for i, x := range p.sizes {
		for _, y := range p.sizes[:i] {
			sum, gap := (x+y)/2, (x-y)/2
			all = append(all, sum, -sum, gap, -gap)
		}
		all = append(all, x, x, -x, -x)
	}
	slices.Sort(all)
	reach := math.Max(0, -all[4*c+1])
	// And as if all had one sign: where most are 0, the few that are not may have it,
	// and the interval then reaches up to them.
	one := make([]float64, 0, p.N*(p.N+1)/2)
	for i, x := range p.sizes {
		for _, y := range p.sizes[:i+1] {
			one = append(one, (x+y)/2)
		}
	}
	slices.Sort(one)
	return math.Max(reach, (one[len(one)-1-c]-one[c])/2) * toPower(alpha)
}

// Known returns the log ratio that would be told from the one that was measured
// with probability Power: from the width of the interval, as it is.
func (p Paired) Known(alpha float64) float64 {
	lo, hi, ok := p.Interval(alpha)
	if !ok {
		return math.Inf(1)
	}
	return math.Log(hi/lo) / 2 * toPower(alpha)
}

// toPower is by how much a difference must exceed half an interval to be found with
// probability Power.
func toPower(alpha float64) float64 {
	z := normalQuantile(1 - alpha/2)
	return (z + normalQuantile(Power)) / z
}

// Differences compares measurements that were taken in pairs by values[i]-base[i]:
// for figures that can be 0, and bounds in units.
type Differences struct {
	N     int
	Shift float64 // the Hodges-Lehmann estimate; NaN without a pair
	P     float64 // as of [Paired]

	of Paired
}

// PairDifferences compares values[i] with base[i] by their differences.
func PairDifferences(base, values []float64) Differences {
	var d []float64
	for i := range min(len(base), len(values)) {
		if x := values[i] - base[i]; !math.IsNaN(x) && !math.IsInf(x, 0) {
			d = append(d, x)
		}
	}
	p := newPaired(d)
	return Differences{N: p.N, Shift: middle(p.walsh), P: p.P, of: p}
}

// Interval bounds the difference: see [Paired.Interval].
func (d Differences) Interval(alpha float64) (lo, hi float64, ok bool) {
	c := signedRankQuantile(d.N, alpha/2)
	if d.N == 0 || c < 0 {
		return math.NaN(), math.NaN(), false
	}
	w := d.of.walsh
	return w[c], w[len(w)-1-c], true
}

// Differs says whether the interval for alpha leaves 0 out.
func (d Differences) Differs(alpha float64) bool {
	lo, hi, ok := d.Interval(alpha)
	return ok && (lo > 0 || hi < 0)
}

// Detectable is as that of [Paired], in units.
func (d Differences) Detectable(alpha float64) float64 { return d.of.Detectable(alpha) }

// Known is as that of [Paired], in units.
func (d Differences) Known(alpha float64) float64 {
	lo, hi, ok := d.Interval(alpha)
	if !ok {
		return math.Inf(1)
	}
	return (hi - lo) / 2 * toPower(alpha)
}
