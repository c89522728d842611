package stat

import "math"

// Proportion returns the 95% interval of a proportion that n draws found, by Wilson's
// score: it stays within 0 and 1, and holds for few draws, too.
func Proportion(p, n float64) (lo, hi float64) {
	const z = 1.959964
	mid := p + z*z/(2*n)
	half := z * math.Sqrt(p*(1-p)/n+z*z/(4*n*n))
	whole := 1 + z*z/n
	return math.Max((mid-half)/whole, 0), math.Min((mid+half)/whole, 1)
}
