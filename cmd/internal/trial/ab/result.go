package ab

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
)

const (
	// level is the error of each of the two families at the end, earlyLevel what is
	// spent before it on stopping for differences that are plain: together stat.Alpha.
	level      = 0.9 * stat.Alpha
	earlyLevel = stat.Alpha - level
)

// A Result is what a comparison found.
type Result struct {
	Detect float64 `json:"detect_fraction"`
	Rounds int     `json:"rounds"`
	Ended  Ended   `json:"ended" redact:"keep"`
	// Detectable is the difference that would have been found in 8 of 10 such
	// comparisons, as a fraction: the largest of those of the figures that decide, but
	// for those whose base is 0. Null with too few rounds, and where no figure is left.
	Detectable *float64 `json:"detectable_fraction"`

	Comparisons []Comparison `json:"comparisons"` // one of each arm but the base
	Gates       []Gate       `json:"gates"`       // of --fail-if
}

// A Comparison is what an arm differs in from the base.
type Comparison struct {
	Arm     int      `json:"arm"` // its index; the base has 0
	Figures []Figure `json:"figures"`
	Profile *Profile `json:"profile"` // null where too little was sampled
}

// A Figure is what an arm's figure differs in from the base's, within rounds.
type Figure struct {
	Key  string `json:"key" redact:"keep"`
	Unit Unit   `json:"unit" redact:"keep"`
	// Primary says that the figure is one of those that decide: the metric, the Go
	// benchmarks, and those of --fail-if.
	Primary bool `json:"primary"`
	Higher  bool `json:"higher_is_better"`
	N       int  `json:"n"` // rounds
	// Base and Value are the base's own figure and the arm's: medians, or those of all
	// runs together where a figure is pooled. They are not adjusted for drift.
	Base  float64 `json:"base"`
	Value float64 `json:"value"`
	// Ratio is the arm's by the base's within rounds; null of shares, and where one of
	// the values is 0. Difference is Base times Ratio-1, or where that is null the
	// difference within rounds, which never takes a figure below 0 or a share above 1. The
	// intervals hold for all figures of the family together at 95%; null with too few
	// rounds.
	Ratio        *float64 `json:"ratio"`
	RatioLo      *float64 `json:"ratio_lo"`
	RatioHi      *float64 `json:"ratio_hi"`
	Difference   float64  `json:"difference"`
	DifferenceLo *float64 `json:"difference_lo"`
	DifferenceHi *float64 `json:"difference_hi"`
	P            float64  `json:"p"` // of the signed-rank test, of this figure alone
	Different    bool     `json:"different"`
	// Detectable is the difference that would have been found in 8 of 10 such
	// comparisons, as a fraction of the base.
	Detectable *float64 `json:"detectable_fraction"`
	// Target is the one that was to be found; null for those that do not decide.
	Target *float64 `json:"detect_fraction"`
}

// Better says whether the arm's figure is the better one; ok is false where it does not
// differ.
func (f *Figure) Better() (better, ok bool) {
	return f.Different && f.Difference < 0 != f.Higher, f.Different
}

// family compares the figures of a family.
func (p *plan) family(arms []*trial.Arm, primary bool) (at []place, all []comparison) {
	for k, f := range p.figures {
		if f.primary != primary {
			continue
		}
		for i := 1; i < len(arms); i++ {
			if c := f.compare(arms[0], arms[i]); c.n() > 0 {
				at, all = append(at, place{k, i}), append(all, c)
			}
		}
	}
	return at, all
}

// A place is where a comparison belongs: which figure of which arm.
type place struct{ figure, arm int }

// conclude compares the arms by what was measured so far; nil if there is nothing to
// compare.
func (p *plan) conclude(arms []*trial.Arm, rounds int) *Result {
	r := &Result{Detect: p.opts.Detect, Rounds: rounds, Comparisons: make([]Comparison, len(arms)-1), Gates: []Gate{}}
	found := make(map[place]Figure)
	for _, primary := range []bool{true, false} {
		at, all := p.family(arms, primary)
		tests := make([]float64, len(all))
		for i, c := range all {
			tests[i] = c.p()
		}
		levels := stat.Holm(tests, level, func(i int, l float64) bool { return all[i].differs(l) })
		for i, c := range all {
			found[at[i]] = c.figure(levels[i], level/float64(len(all)))
		}
	}
	if len(found) == 0 {
		return nil
	}
	for i := range r.Comparisons {
		c := &r.Comparisons[i]
		c.Arm, c.Figures = i+1, []Figure{}
		for _, primary := range []bool{true, false} {
			for k, f := range p.figures {
				if x, ok := found[place{k, i + 1}]; ok && f.primary == primary {
					c.Figures = append(c.Figures, x)
				}
			}
		}
		c.drop()
		c.Profile = compareProfiles(arms[0], arms[i+1])
	}
	r.detectable()
	for _, b := range p.opts.Bounds {
		for i := range r.Comparisons {
			r.Gates = append(r.Gates, b.judge(&r.Comparisons[i]))
		}
	}
	return r
}

// drop leaves out the peak of the tree where it is that of the largest process.
func (c *Comparison) drop() {
	one, tree := c.Find("peak_rss_bytes"), c.Find("peak_tree_rss_bytes")
	if one == nil || tree == nil || tree.Primary || one.Base != tree.Base || one.Value != tree.Value || one.Difference != tree.Difference {
		return
	}
	out := c.Figures[:0]
	for _, f := range c.Figures {
		if f.Key != "peak_tree_rss_bytes" {
			out = append(out, f)
		}
	}
	c.Figures = out
}

// Find returns the figure with a key; nil for none.
func (c *Comparison) Find(key string) *Figure {
	for i := range c.Figures {
		if c.Figures[i].Key == key {
			return &c.Figures[i]
		}
	}
	return nil
}

// detectable sets what could have been seen: by the figure that is known least.
func (r *Result) detectable() {
	worst := math.NaN()
	for _, c := range r.Comparisons {
		for _, f := range c.Figures {
			switch {
			case !f.Primary:
			case f.DifferenceLo == nil:
				r.Detectable = nil
				return
			case f.Detectable != nil && !(*f.Detectable <= worst):
				worst = *f.Detectable
			}
		}
	}
	r.Detectable = finite(worst)
}

// figure says what the comparison found: tested at one level, detectable at another.
func (c comparison) figure(tested, each float64) Figure {
	f := Figure{Key: c.f.key, Unit: c.f.unit, Primary: c.f.primary, Higher: c.f.higher, N: c.n(),
		Base: c.middle, Value: c.arm, P: c.p(), Different: c.differs(tested)}
	if c.byUnit {
		f.Difference = c.possible(c.differ.Shift)
		share := c.f.unit == Fraction
		if share { // as the two shares beside it say
			f.Difference = c.arm - c.middle
		}
		if lo, hi, ok := c.differ.Interval(tested); ok {
			lo, hi = c.possible(lo), c.possible(hi)
			if share {
				lo, hi = min(lo, f.Difference), max(hi, f.Difference)
				f.Different = f.Different && (lo > 0 || hi < 0)
			}
			f.DifferenceLo, f.DifferenceHi = finite(lo), finite(hi)
		}
	} else {
		f.Ratio, f.Difference = finite(c.ratio.Ratio), f.Base*(c.ratio.Ratio-1)
		if lo, hi, ok := c.ratio.Interval(tested); ok {
			f.RatioLo, f.RatioHi = finite(lo), finite(hi)
			// The one interval in two units, so that they cannot disagree.
			f.DifferenceLo, f.DifferenceHi = finite(f.Base*(lo-1)), finite(f.Base*(hi-1))
		}
	}
	if !f.Primary {
		f.Detectable = finite(c.noise(each))
		return f
	}
	f.Target = &c.f.target
	f.Detectable = finite(c.seen(each, f.Different))
	return f
}

// possible bounds a difference by what the base can lose, and a share can gain. The
// difference is that within rounds, the base's figure one of all of them: beside each
// other they could say that 0.5% of something fell by 0.8 points.
func (c comparison) possible(difference float64) float64 {
	if c.middle > 0 && !c.negative {
		difference = math.Max(difference, -c.middle)
	}
	if c.f.unit == Fraction {
		difference = math.Min(difference, math.Max(1-c.middle, 0))
	}
	return difference
}

// precise says whether every figure that decides is known well enough, and what the
// one that is known least could show.
func (p *plan) precise(arms []*trial.Arm, rounds int) (ok bool, worst float64) {
	early := earlyLook(rounds)
	at, all := p.family(arms, true)
	ok = len(all) > 0
	each := 1 / float64(len(all))
	for i, c := range all {
		seen := c.blind(level * each)
		if early > 0 && c.isKnown(level*each) && c.differs(early*each) {
			if c.f.resolved == nil {
				c.f.resolved = make(map[int]bool)
			}
			c.f.resolved[at[i].arm] = true
		}
		if c.f.resolved[at[i].arm] {
			seen = c.seen(level*each, true)
		} else if !c.isSeen(level * each) {
			ok = false
		}
		worst = math.Max(worst, seen)
	}
	if math.IsInf(worst, 0) {
		worst = 0
	}
	return ok, worst
}

// earlyLook returns what may be spent on differences that are plain after so many
// rounds; 0 for no look. It is 4/5 of all after 10 rounds, the fewest with which so
// little can be significant at all, and half of what is left after 20, 40 and so on.
func earlyLook(rounds int) float64 {
	spend, left := 0.8*earlyLevel, 0.2*earlyLevel
	for n := LeastRounds; n <= rounds; n *= 2 {
		if n == rounds {
			return spend
		}
		spend = left / 2
		left -= spend
	}
	return 0
}

// finite returns nil for what JSON cannot hold.
func finite(v float64) *float64 {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return nil
	}
	return &v
}
