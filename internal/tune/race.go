package tune

import (
	"fmt"
	"math"

	"github.com/foliomem/folio/internal/count"
	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
)

// A Status says where an arm stands in the race.
type Status string

const (
	Racing    Status = "racing"    // may still be the answer
	Dominated Status = "dominated" // another arm is clearly faster and needs no more memory
	Slower    Status = "slower"    // another arm is clearly faster, but needs more memory
	Outranked Status = "outranked" // not clearly slower, but others look better
	Failed    Status = "failed"    // the program did not survive the setting
)

// An Arm is a contender with the state of its race.
type Arm struct {
	*trial.Arm
	Status Status
	Reason string // why it left the race
}

// racing says that the arm gets more rounds.
func (a *Arm) racing() bool { return a.Status == Racing }

const (
	// band is how much worse than the best an arm may be and still count as
	// equal: the goal "cheapest within 2% of the fastest" needs to know that much.
	band = 0.02
	// settleBelow is the worst that an arm may turn out to be, against the
	// leader, for the race to be over.
	settleBelow = 0.03
	// fewRounds is what an arm needs to lead the race.
	fewRounds = 3
	// fullRounds is when intervals at the 95% level exist.
	fullRounds = 6
	// semifinalists and finalists are how many arms go on after fewRounds and
	// after fullRounds.
	semifinalists = 7
	finalists     = 4
)

// An objective reads an arm's cost from samples.
type objective struct {
	spec *metric.Spec
	keys []string // benchmarks that count, for ns/op
}

// raw returns the metric as the user knows it.
func (o *objective) raw(s *trial.Sample) (float64, bool) {
	if !s.OK() {
		return 0, false
	}
	switch {
	case o.spec.Pattern != nil:
		v, ok := s.Metrics[o.spec.Name]
		return v, ok
	case o.spec.Name == metric.CPU:
		return s.CPU, true
	case o.spec.Name == metric.Bench:
		return metric.BenchMean(s.Metrics, o.keys)
	}
	return s.Wall, true
}

// cost returns the metric such that less is better.
func (o *objective) cost(s *trial.Sample) (float64, bool) {
	v, ok := o.raw(s)
	if !ok || v <= 0 {
		return 0, false
	}
	if o.spec.Higher {
		v = 1 / v
	}
	return v, true
}

// costs returns an arm's cost by round.
func (o *objective) costs(a *Arm) map[int]float64 {
	out := make(map[int]float64, len(a.Samples))
	for _, s := range a.Samples {
		if v, ok := o.cost(s); ok {
			out[s.Round] = v
		}
	}
	return out
}

// memory returns the median of an arm's peak memory.
func memory(a *Arm) float64 {
	var v []float64
	for _, s := range a.Samples {
		if m, ok := s.Memory(); ok && s.OK() {
			v = append(v, m)
		}
	}
	return stat.Median(v)
}

// mostMemory returns the largest peak that an arm ever had: a bound must hold
// for every run.
func mostMemory(a *Arm) float64 {
	most := math.NaN()
	for _, s := range a.Samples {
		if m, ok := s.Memory(); ok && s.OK() && !(m <= most) {
			most = m
		}
	}
	return most
}

// scores returns each arm's cost, rounds taken out, relative to the others'.
func (o *objective) scores(arms []*Arm) map[*Arm]float64 {
	y := make(map[string]map[int]float64)
	for _, a := range arms {
		if c := o.costs(a); len(c) > 0 {
			y[a.Name] = c
		}
	}
	e := stat.Effects(y)
	out := make(map[*Arm]float64)
	for _, a := range arms {
		if v, ok := e[a.Name]; ok {
			out[a] = v
		}
	}
	return out
}

// leader returns the arm with the least score among those that qualify. Arms
// with few rounds do not lead those with enough: one lucky run must not win.
func leader(arms []*Arm, scores map[*Arm]float64, enough int, ok func(*Arm) bool) *Arm {
	most := 0
	for _, a := range arms {
		if ok(a) && scores[a] > 0 {
			most = max(most, len(a.Samples))
		}
	}
	var best *Arm
	for _, a := range arms {
		if s := scores[a]; s > 0 && ok(a) && len(a.Samples) >= min(enough, most) && (best == nil || s < scores[best]) {
			best = a
		}
	}
	return best
}

// against returns the ratio of a's cost to b's over the rounds that both ran in.
func (o *objective) against(a, b *Arm) stat.Summary {
	ca, cb := o.costs(a), o.costs(b)
	var va, vb []float64
	for r, v := range ca {
		if w, ok := cb[r]; ok {
			va, vb = append(va, v), append(vb, w)
		}
	}
	return stat.PairedRatio(vb, va)
}

// clearlySlower says whether a ratio to the leader is beyond doubt above the
// band. With full rounds the interval says so. With fewer, all rounds must
// agree, and the gap must stand out from the noise of the race (of one trial, as
// a part of its value): a busy machine needs more rounds to drop an arm.
func clearlySlower(r stat.Summary, noise float64) bool {
	switch {
	case r.N < 2:
		return false
	case r.N >= fullRounds:
		return r.Lo > 1+band
	}
	const sigmas = 2
	gap := sigmas * noise * math.Sqrt(2/float64(r.N))
	return r.Lo > 1+band && math.Log(r.Median) > band+gap
}

// noise estimates how much a trial varies when arm and round are accounted for:
// the scaled median absolute residual (1.4826 makes it the standard deviation
// of a normal distribution).
func (o *objective) noise(arms []*Arm) float64 {
	y := make(map[string]map[int]float64)
	for _, a := range arms {
		if c := o.costs(a); len(c) > 0 {
			y[a.Name] = c
		}
	}
	return 1.4826 * stat.Median(stat.Residuals(y))
}

// judge updates the standing of every arm. maxMemory is 0 or the bound of the
// goal "best within --mem".
func (o *objective) judge(arms []*Arm, def *Arm, maxMemory uint64) {
	for _, a := range arms {
		if a.racing() {
			o.judgeFailures(a)
		}
	}
	scores := o.scores(arms)
	best := leader(arms, scores, fewRounds, alive)
	if best == nil {
		return
	}
	within := func(a *Arm) bool { return alive(a) && maxMemory > 0 && mostMemory(a) <= float64(maxMemory) }
	bestWithin := leader(arms, scores, fewRounds, within)
	noise := o.noise(arms)
	for _, a := range arms {
		if !a.racing() || a == best || a == bestWithin || a == def {
			continue
		}
		r := o.against(a, best)
		if !clearlySlower(r, noise) {
			continue
		}
		if within(a) && bestWithin != nil && !clearlySlower(o.against(a, bestWithin), noise) {
			continue // not the fastest, but perhaps the best that fits
		}
		a.Status = Dominated
		if memory(a) < memory(best)*(1-band) {
			a.Status = Slower
		}
		a.Reason = fmt.Sprintf("%.0f%% slower than %s after %s", (r.Median-1)*100, best.Name, count.Of(r.N, "round"))
	}
	o.cut(arms, def, best, bestWithin, scores)
}

// judgeFailures takes out an arm that the program does not survive. A bound that
// was passed needs no second look; other failures get one.
func (o *objective) judgeFailures(a *Arm) {
	failed := 0
	for _, s := range a.Samples {
		if s.OverMemory || s.Overdue {
			a.Status, a.Reason = Failed, s.Failure
			return
		}
		if !s.OK() {
			failed++
			a.Reason = s.Failure
		}
	}
	if failed >= 2 && failed == len(a.Samples) {
		a.Status = Failed
	} else {
		a.Reason = ""
	}
}

// cut bounds the race: once arms have had some rounds, only the best few and
// the cheapest of the nearly best go on.
func (o *objective) cut(arms []*Arm, def, best, bestWithin *Arm, scores map[*Arm]float64) {
	o.keep(semifinalists, fewRounds, arms, def, best, bestWithin, scores)
	o.keep(finalists, fullRounds, arms, def, best, bestWithin, scores)
}

// keep leaves at most n of the arms with that many rounds in the race.
func (o *objective) keep(n, rounds int, arms []*Arm, def, best, bestWithin *Arm, scores map[*Arm]float64) {
	var ready []*Arm
	for _, a := range arms {
		if a.racing() && a != def && len(o.costs(a)) >= rounds {
			ready = append(ready, a)
		}
	}
	cheapest := best
	for _, a := range ready {
		if scores[a] <= scores[best]*(1+band) && memory(a) < memory(cheapest) {
			cheapest = a
		}
	}
	for len(ready) > n {
		worst := -1
		for i, a := range ready {
			if a != best && a != bestWithin && a != cheapest && (worst < 0 || scores[a] > scores[ready[worst]]) {
				worst = i
			}
		}
		if worst < 0 {
			return
		}
		a := ready[worst]
		a.Status = Outranked
		a.Reason = fmt.Sprintf("%s looked better after %s", count.Of(n, "arm"), count.Of(len(o.costs(a)), "round"))
		ready = append(ready[:worst], ready[worst+1:]...)
	}
}

// settled says whether more rounds could change the answer: every arm in the
// race is known to be as good as the leader, within the band.
func (o *objective) settled(arms []*Arm, def *Arm, maxRounds int) bool {
	scores := o.scores(arms)
	best := leader(arms, scores, fewRounds, alive)
	if best == nil {
		return false // every run failed so far: judgeFailures gives each a second one
	}
	for _, a := range arms {
		n := len(a.Samples)
		if !a.racing() || n >= maxRounds {
			continue
		}
		if n < fullRounds {
			return false
		}
		if a == best || a == def {
			continue
		}
		r := o.against(a, best)
		if r.N < fullRounds || r.Hi > 1+settleBelow || r.Lo < 1-settleBelow {
			return false
		}
	}
	return true
}
