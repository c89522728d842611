// Package stat summarizes and compares repeated measurements.
//
// It is a thin layer over golang.org/x/perf/benchmath and makes one choice for
// the whole of Folio: nothing is assumed about the distribution of a
// measurement. The center is the median, the interval is the one that order
// statistics give, and two arms are compared with the Mann-Whitney U test.
// Timings on a shared machine are skewed and have outliers; means and standard
// deviations mislead there.
package stat

import (
	"errors"
	"math"

	"golang.org/x/perf/benchmath"

	"github.com/foliomem/folio/internal/base/unit"
)

// Confidence is the level of every interval that Folio prints.
const Confidence = 0.95

// Alpha is the level of every test that Folio makes: a difference with a
// p-value of Alpha or more is printed as "~", undecided.
const Alpha = 0.05

// A Summary is the center of a sample and how well it is known.
type Summary struct {
	N      int     // measurements
	Median float64 // NaN when N is 0
	// Lo and Hi bound the median at level Confidence. They are the smallest and
	// the largest measurement when there are too few for that level, and then
	// HasInterval is false.
	Lo, Hi      float64
	HasInterval bool
	Warnings    []error
}

// Summarize returns the summary of values, which it does not change.
func Summarize(values []float64) Summary {
	if len(values) == 0 {
		return Summary{Median: math.NaN(), Lo: math.NaN(), Hi: math.NaN()}
	}
	s := sample(values)
	b := benchmath.AssumeNothing.Summary(s, Confidence)
	out := Summary{N: len(values), Median: b.Center, Lo: b.Lo, Hi: b.Hi, HasInterval: true}
	if math.IsInf(b.Lo, 0) || math.IsInf(b.Hi, 0) || math.IsNaN(b.Lo) || math.IsNaN(b.Hi) {
		out.Lo, out.Hi, out.HasInterval = s.Values[0], s.Values[len(s.Values)-1], false
		out.Warnings = []error{errFew}
	}
	return out
}

// Spread returns the half-width of the interval relative to the median, as
// benchstat's "± 3%" does, or false when there is no interval.
func (s Summary) Spread() (float64, bool) {
	if !s.HasInterval || s.Median == 0 {
		return 0, false
	}
	return math.Max(s.Hi-s.Median, s.Median-s.Lo) / math.Abs(s.Median), true
}

// SpreadText prints how well the median is known: "± 3%", or "" without an interval.
func (s Summary) SpreadText() string {
	r, ok := s.Spread()
	if !ok {
		return ""
	}
	return unit.Spread(r)
}

// Median returns the median of values, NaN when there are none.
func Median(values []float64) float64 { return Summarize(values).Median }

// GeoMean returns the geometric mean of positive values, NaN when there are
// none or one is not positive.
func GeoMean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		if v <= 0 {
			return math.NaN()
		}
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// A Comparison says whether a sample differs from a base.
type Comparison struct {
	Ratio     float64 // median of the sample over median of the base
	P         float64 // Mann-Whitney, two-sided
	N1, N2    int
	Different bool // P < Alpha
	Warnings  []error
}

// Compare compares values with base. Either may be empty: then nothing is
// known, Ratio is NaN and P is 1.
func Compare(base, values []float64) Comparison {
	c := Comparison{Ratio: math.NaN(), P: 1, N1: len(base), N2: len(values)}
	if len(base) == 0 || len(values) == 0 {
		return c
	}
	c.Ratio = Median(values) / Median(base)
	b := benchmath.AssumeNothing.Compare(sample(base), sample(values))
	if c.P, c.Warnings = b.P, b.Warnings; len(b.Warnings) > 0 && max(c.N1, c.N2) < leastToDiffer {
		c.Warnings = []error{errFewToDiffer}
	}
	c.Different = c.P < Alpha
	return c
}

// What is said instead of what benchmath says: 6 give the interval of [Confidence], and
// leastToDiffer on both sides a difference at [Alpha].
const leastToDiffer = 4

var (
	errFew         = errors.New("medians have no 95% interval: that takes at least 6 runs")
	errFewToDiffer = errors.New("telling a difference takes at least 4 runs of each")
)

// CanDiffer says whether so many values on each side can differ at [Alpha]: two sides that
// do not overlap at all have the least P there is. It takes 4 and 4, or 3 and 5.
func CanDiffer(n1, n2 int) bool {
	orders := 1.0 // of the values of both: n1+n2 over n1
	for i := range n1 {
		orders *= float64(n2+i+1) / float64(i+1)
	}
	return min(n1, n2) > 0 && 2/orders < Alpha
}

// Delta prints the difference as a signed percentage, or "~" when undecided.
func (c Comparison) Delta() string {
	if !c.Different || math.IsNaN(c.Ratio) || math.IsInf(c.Ratio, 0) {
		return "~"
	}
	return unit.Change(c.Ratio)
}

// PairedRatio summarizes values[i]/base[i]. Pairs measured close in time share
// the machine's mood, so their ratio holds when its speed drifts.
func PairedRatio(base, values []float64) Summary {
	ratios := make([]float64, 0, len(base))
	for i := range min(len(base), len(values)) {
		if base[i] > 0 {
			ratios = append(ratios, values[i]/base[i])
		}
	}
	return Summarize(ratios)
}

// sample copies values: benchmath sorts what it is given.
func sample(values []float64) *benchmath.Sample {
	return benchmath.NewSample(append([]float64(nil), values...), &benchmath.Thresholds{CompareAlpha: Alpha})
}

// Notes collects warnings for the foot of a table. The same text gets the same
// number, so a note that holds for twenty cells is printed once.
type Notes struct {
	texts []string
	index map[string]int
}

// Add returns the number, from 1, under which text will be printed; 0 for "", which is none.
func (n *Notes) Add(text string) int {
	if text == "" {
		return 0
	}
	if i, ok := n.index[text]; ok {
		return i
	}
	if n.index == nil {
		n.index = make(map[string]int)
	}
	n.texts = append(n.texts, text)
	n.index[text] = len(n.texts)
	return len(n.texts)
}

// Texts returns the notes in the order of their numbers.
func (n *Notes) Texts() []string { return append([]string(nil), n.texts...) }
