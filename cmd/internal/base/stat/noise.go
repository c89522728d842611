package stat

import "math"

// Noise is how well runs could be compared: how much they differ though nothing is
// different.
type Noise struct {
	Rounds int `json:"rounds"` // runs of each side, or the runs of one
	// Detectable is the difference, as a fraction, that would be found in 8 of 10
	// comparisons of so many rounds.
	Detectable float64 `json:"detectable_fraction"`
	// Needed is about how many rounds it takes to find one of [Wanted].
	Needed int `json:"needed_rounds"`
}

// Wanted is the difference that [Noise.Needed] is about.
const Wanted = 0.05

// quiet is the difference up to which a machine counts as quiet.
const quiet = 0.03

// FewestForNoise is the number of runs below which nothing is said of how they vary.
const FewestForNoise = 5

// newNoise returns the noise of rounds whose log ratios have a standard deviation; nil
// where that is of too few.
func newNoise(rounds int, sd float64) *Noise {
	if rounds < FewestForNoise || math.IsNaN(sd) || math.IsInf(sd, 0) {
		return nil
	}
	const alpha = 0.05
	reach := normalQuantile(1-alpha/2) + normalQuantile(Power)
	n := &Noise{Rounds: rounds, Detectable: math.Expm1(reach * sd / math.Sqrt(float64(rounds)))}
	// The test of pairs finds nothing with fewer rounds than these.
	n.Needed = FewestForNoise + 1
	if more := math.Ceil(math.Pow(reach*sd/math.Log1p(Wanted), 2)); more > float64(n.Needed) {
		n.Needed = int(min(more, 1e6))
	}
	return n
}

// NoiseOf returns that of runs of one thing: as if half of them were of another that is
// the same.
func NoiseOf(values []float64) *Noise {
	var logs []float64
	for _, v := range values {
		if v > 0 {
			logs = append(logs, math.Log(v))
		}
	}
	if len(logs) < FewestForNoise {
		return nil
	}
	middle := medianOf(logs)
	var off []float64
	for _, l := range logs {
		off = append(off, math.Abs(l-middle))
	}
	return newNoise(len(logs), math.Sqrt2*1.4826*medianOf(off))
}

// Quiet says whether small differences could be seen.
func (n *Noise) Quiet() bool { return n.Detectable <= quiet }
