package tune

import (
	"fmt"
	"math"
	"sort"

	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
)

// Goals of a recommendation.
const (
	Fastest  = "fastest"
	Cheapest = "cheapest_within_2_percent"
	Within   = "best_within_mem"
)

// A Recommendation is the arm to take for a goal.
type Recommendation struct {
	Goal string
	Arm  *Arm
	// Time and Memory compare the arm with the default: time by the Mann-Whitney
	// test, "~" when undecided.
	Time        stat.Comparison
	MemoryRatio float64 // NaN when unknown
	Why         string  // "" or why it is the default after all
	// Keep says how to have it for good, of a program that folio built: a heading, and
	// the ways to choose from.
	Keep []string
}

func alive(a *Arm) bool { return a.Status != Failed }

// cheapestWithin returns the arm with the least memory among those at most band
// slower than best.
func cheapestWithin(arms []*Arm, scores map[*Arm]float64, best *Arm, band float64) *Arm {
	out := best
	for _, a := range arms {
		s, ok := scores[a]
		if ok && alive(a) && s <= scores[best]*(1+band) && len(a.Samples) >= min(fewRounds, len(best.Samples)) && memory(a) < memory(out) {
			out = a
		}
	}
	return out
}

// recommend fills in the answers.
func (r *Result) recommend() {
	scores := r.obj.scores(r.Arms)
	best := leader(r.Arms, scores, fullRounds, alive)
	if best == nil {
		return
	}
	def := r.Arms[0]
	fast := r.answer(Fastest, best)
	if best != def && !fast.Time.Different && alive(def) {
		fast = r.answer(Fastest, def)
		fast.Why = "no setting was measurably faster than the default"
	}
	r.Recommended = append(r.Recommended, fast)
	r.Recommended = append(r.Recommended, r.answer(Cheapest, cheapestWithin(r.Arms, scores, fast.Arm, band)))
	if r.MaxMemory == 0 {
		return
	}
	within := leader(r.Arms, scores, fullRounds, r.fits)
	if within == nil {
		return
	}
	rec := r.answer(Within, within)
	if within != def && r.fits(def) && !rec.Time.Different {
		rec = r.answer(Within, def)
		rec.Why = "no setting within it was measurably faster than the default"
	}
	r.Recommended = append(r.Recommended, rec)
}

func (r *Result) fits(a *Arm) bool { return alive(a) && mostMemory(a) <= float64(r.MaxMemory) }

func (r *Result) answer(goal string, a *Arm) Recommendation {
	return Recommendation{
		Goal: goal, Arm: a, Time: r.Compare(a),
		MemoryRatio: memory(a) / memory(r.Arms[0]),
		Keep:        r.keep(a),
	}
}

// Compare compares an arm's metric with the default's.
func (r *Result) Compare(a *Arm) stat.Comparison {
	return stat.Compare(r.Values(r.Arms[0]), r.Values(a))
}

// Values returns an arm's metric, as the user knows it, of every trial that counts.
func (r *Result) Values(a *Arm) []float64 {
	var out []float64
	for _, s := range a.Samples {
		if v, ok := r.obj.raw(s); ok {
			out = append(out, v)
		}
	}
	return out
}

// Memory returns the median of an arm's peak memory, NaN when unknown.
func (r *Result) Memory(a *Arm) float64 { return memory(a) }

// unfit returns the error for a --mem that no arm kept to.
func (r *Result) unfit() error {
	if r.MaxMemory == 0 {
		return nil
	}
	var least *Arm
	for _, a := range r.Arms {
		if !alive(a) || math.IsNaN(mostMemory(a)) {
			continue
		}
		if r.fits(a) {
			return nil
		}
		if least == nil || mostMemory(a) < mostMemory(least) {
			least = a
		}
	}
	if least == nil {
		return nil
	}
	return fmt.Errorf("--mem %s: no setting keeps the program within it: the least that was measured is %.0f MiB, with %s",
		trial.FormatBytes(r.MaxMemory), math.Ceil(mostMemory(least)/(1<<20)), least.Name)
}

// Ranked returns the arms as a table shows them: the default, then the others,
// best first, those without a figure last.
func (r *Result) Ranked() []*Arm {
	scores := r.obj.scores(r.Arms)
	arms := append([]*Arm(nil), r.Arms...)
	sort.SliceStable(arms[1:], func(i, j int) bool {
		a, b := scores[arms[1+i]], scores[arms[1+j]]
		if a == 0 || b == 0 {
			return a > 0 && b == 0
		}
		return a < b
	})
	return arms
}

// Front returns the arms that no other beats in both metric and memory, least
// memory first.
func (r *Result) Front() []*Arm {
	scores := r.obj.scores(r.Arms)
	var arms []*Arm
	for _, a := range r.Arms {
		if alive(a) && scores[a] > 0 && !math.IsNaN(memory(a)) {
			arms = append(arms, a)
		}
	}
	sort.SliceStable(arms, func(i, j int) bool {
		if mi, mj := memory(arms[i]), memory(arms[j]); mi != mj {
			return mi < mj
		}
		return scores[arms[i]] < scores[arms[j]]
	})
	var front []*Arm
	for _, a := range arms {
		if len(front) == 0 || scores[a] < scores[front[len(front)-1]] {
			front = append(front, a)
		}
	}
	return front
}
