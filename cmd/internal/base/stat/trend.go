package stat

import (
	"math"
	"slices"
)

// A Trend is by how much a figure grows per unit of time.
type Trend struct {
	N      int
	Slope  float64 // Theil-Sen: the median of the slopes between all pairs
	Lo, Hi float64 // its 95% confidence interval, by Sen; infinite with fewer than 6 values
}

// Steady reports whether the interval has 0 in it: nothing is known to grow or shrink.
func (t Trend) Steady() bool { return !(t.Lo > 0 || t.Hi < 0) }

// TrendOf returns how y changes with x, by the method of Theil and Sen: a value that is
// far off moves it little. It needs two different x. Its cost grows with the square of
// the number of values.
func TrendOf(x, y []float64) (t Trend, ok bool) {
	var slopes []float64
	for i := range x {
		for j := range i {
			if d := x[i] - x[j]; d != 0 {
				slopes = append(slopes, (y[i]-y[j])/d)
			}
		}
	}
	if len(slopes) == 0 {
		return Trend{}, false
	}
	slices.Sort(slopes)
	n := len(slopes)
	t = Trend{N: len(x), Slope: (slopes[(n-1)/2] + slopes[n/2]) / 2, Lo: math.Inf(-1), Hi: math.Inf(1)}
	// Kendall's S of values without a trend has this variance.
	const z = 1.959964
	m := float64(t.N)
	c := z * math.Sqrt(m*(m-1)*(2*m+5)/18)
	lo, hi := int(math.Floor((float64(n)-c)/2)), int(math.Ceil((float64(n)+c)/2))
	if lo >= 0 && hi < n {
		t.Lo, t.Hi = slopes[lo], slopes[hi]
	}
	return t, true
}
