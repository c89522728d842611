package tune

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/unit"
)

// A State says how far an answer can be relied on.
type State string

const (
	Conclusive   State = "conclusive"   // no setting of the final is better by more than the margin of the metric, and none was left out
	Inconclusive State = "inconclusive" // more rounds or settings are needed: see Missing and Try
	NoEffect     State = "no_effect"    // the settings change nothing about the program
	TooLittle    State = "too_little"   // there was no final, or it has no pair of runs
)

// Goals of a recommendation.
const (
	Fastest    = "fastest"
	Cheapest   = "cheapest_within_2_percent"
	Compromise = "compromise"
	Unlimited  = "without_gomemlimit" // of a best one whose GOMEMLIMIT was laid around the heap of these runs
)

// An Answer is what a search recommends, and how sure it is.
type Answer struct {
	State State `json:"state" redact:"keep"`
	// UpTo is by what part of its cost what is recommended may still be beaten; 0
	// when conclusive, or when nothing is known yet.
	UpTo float64 `json:"up_to,omitempty"`
	// Rounds is how many more rounds of the final would probably make it conclusive, Missing how
	// many seconds they and what is Untried take, and Try the flags that allow them. Where
	// that search would take more than [MostAdvised], Try has the settings tried that were not,
	// or is "".
	Rounds  int     `json:"missing_rounds,omitempty"`
	Missing float64 `json:"missing_seconds,omitempty"`
	Try     string  `json:"try,omitempty" redact:"keep"`
	// ByCPU is, where wall time leaves the answer open, the setting that takes the least CPU
	// time of those that clearly take less than the default; nil for none.
	ByCPU *CPUChange `json:"by_cpu_time,omitempty"`
	// Untried is how many settings the budget had no room for: not those half-way between others,
	// nor those that do what another one does.
	Untried int `json:"untried_settings,omitempty"`
	// Inert says in a line that settings change nothing about the program; "" else.
	Inert string `json:"inert,omitempty" redact:"prose"`
	// Recommended is the answer to each goal; the first is to the main one. Goals
	// without an answer that the final shows are left out.
	Recommended []Recommendation `json:"-"`
	// Benchmarks compares each Go benchmark under the default and what is recommended,
	// where there are several.
	Benchmarks []BenchmarkChange `json:"benchmarks,omitempty"`
	// Steps says what each of the builds that were asked for gives alone, and the other
	// settings of what is recommended. What they give together is the ratio of that.
	Steps []Step `json:"steps,omitempty"`
}

// A Recommendation is the arm to take for a goal. Arm.Final has its figures.
type Recommendation struct {
	Goal string
	Arm  *Arm
	// Tied are further arms that cannot be told apart from it and look at most 2%
	// different; Least says that none of them takes less memory. Undecided are those that
	// cannot be told apart either but look further away; Saves is the one of them that takes
	// least memory, nil where none takes clearly less than Arm.
	Tied      []*Arm
	Least     bool
	Undecided []*Arm
	Saves     *Saving
	// Permanent says how to have it for good, of a program that folio built: a heading, and
	// the ways to choose from.
	Permanent []string
}

// A Saving is a setting that takes less memory than what is recommended, and may or may
// not be as good.
type Saving struct {
	Arm *Arm
	// Ratio is its metric against that of the recommended one, Memory its memory.
	Ratio, Memory *Estimate
}

// A CPUChange is what a setting does to the CPU time of the default.
type CPUChange struct {
	Arm   string    `json:"arm" redact:"named"`
	Ratio *Estimate `json:"ratio"`
}

// A BenchmarkChange is what a recommendation does to a Go benchmark.
type BenchmarkChange struct {
	Name    string    `json:"name" redact:"keep"`
	Default float64   `json:"default"` // median ns/op
	Setting float64   `json:"setting"` // adjusted for drift: the default's times Ratio
	Ratio   *Estimate `json:"ratio"`
}

// answer fills in what the verdict recommends.
func (r *Result) answer(v *verdict) {
	r.Answer = Answer{State: TooLittle, Inert: r.Inert}
	def := r.Arms[0]
	if len(v.arms) == 0 || def.Final == nil || len(v.arms) < 2 {
		return
	}
	main, alike := v.main(r.allowed)
	if main == nil {
		return // every one breaks the limits: unlimited says so
	}
	r.Answer.State = Conclusive
	r.Answer.Untried = r.untried
	if rounds, upTo := v.missing(main); rounds > 0 {
		r.Answer.State, r.Answer.Rounds, r.Answer.UpTo = Inconclusive, rounds, upTo
	} else if r.untried > 0 {
		r.Answer.State = Inconclusive
	}
	if r.Answer.State == Inconclusive && r.Objective.Name == metric.Wall {
		r.Answer.ByCPU = v.byCPU()
	}
	r.recommend(v, Fastest, main, alike)
	if a := v.leastWithinBand(main); a != nil {
		r.recommend(v, Cheapest, a, nil)
	}
	unlimited := v.unlimited(main)
	if unlimited != nil {
		r.recommend(v, Unlimited, unlimited, nil)
	}
	if a := v.bargain(main); a != nil && a != unlimited {
		r.recommend(v, Compromise, a, nil)
	}
	for _, a := range v.arms {
		same, tied := slices.Contains(alike, a), v.tied(a, main)
		tied = tied && r.allowed(a)
		a.Final.Tied, a.Final.Undecided = same && tied, tied && !same
		if a.Final.rests = nil; v.rests(a, main) {
			a.Final.rests = main
		}
	}
	r.Answer.Benchmarks = v.benchmarks(main)
	r.sayBuilt(main)
}

// recommend adds a recommendation. What is alike looks as good as it.
func (r *Result) recommend(v *verdict, goal string, a *Arm, alike []*Arm) {
	rec := Recommendation{Goal: goal, Arm: a, Permanent: r.keep(a), Least: true}
	var saves *Arm
	for _, b := range v.arms {
		less := v.memory(b) < v.memory(a)*(1-band)
		switch {
		case a == b || !v.tied(a, b) || !r.allowed(b):
		case slices.Contains(alike, b):
			rec.Tied = append(rec.Tied, b)
			rec.Least = rec.Least && !less
		default:
			rec.Undecided = append(rec.Undecided, b)
			if less && (saves == nil || v.memory(b) < v.memory(saves)) {
				saves = b
			}
		}
	}
	if saves != nil {
		rec.Saves = v.saving(saves, a)
	}
	r.Answer.Recommended = append(r.Answer.Recommended, rec)
}

// saving compares an arm with the recommended one; nil where it is not known to take less
// memory.
func (v *verdict) saving(a, main *Arm) *Saving {
	memory := newEstimate(reading(memoryOf).compare(v.samples[main], v.samples[a]), v.each())
	if memory == nil || !memory.Different || memory.Ratio > 1 { // as far as main had grown
		return nil
	}
	memory.ofSizes(v.memory(a), v.memory(main))
	ratio := newEstimate(v.against(a, main), v.each())
	if v.r.obj.spec.Higher {
		ratio = ratio.inverse()
	}
	return &Saving{Arm: a, Ratio: ratio, Memory: memory}
}

// main returns the arm to take among those that ok allows: one that is known to be
// better than the default, else the default. Where the default is not allowed, it
// is the best of the others.
func (v *verdict) main(ok func(*Arm) bool) (main *Arm, alike []*Arm) {
	arms := slices.DeleteFunc(slices.Clone(v.arms), func(a *Arm) bool { return !ok(a) })
	def := v.r.Arms[0]
	if len(arms) == 0 {
		return nil, nil
	}
	if !slices.Contains(arms, def) {
		return v.pick(arms, ok)
	}
	if a, alike := v.pick(arms, func(a *Arm) bool { return v.won[a] }); a != nil {
		return a, alike
	}
	main = def
	if slices.ContainsFunc(arms, func(a *Arm) bool { return v.won[a] }) {
		main = arms[0] // told apart from one that is better than the default
	}
	return main, slices.DeleteFunc(arms, func(a *Arm) bool {
		_, _, known := v.against(a, main).Interval(v.each())
		return a != main && (!known || !v.near(a, main))
	})
}

// leastWithinBand returns the arm with the least memory of those that are shown to
// be at most band slower than the best, if that takes less than main; else nil.
func (v *verdict) leastWithinBand(main *Arm) *Arm {
	out := main
	for _, a := range v.arms {
		_, hi, ok := v.against(a, v.arms[0]).Interval(v.each())
		if a == v.arms[0] {
			hi, ok = 1, true
		}
		ok = ok && v.r.allowed(a)
		if !ok || hi > 1+band || !(v.memory(a) < v.memory(out)*(1-band)) {
			continue
		}
		if m := reading(memoryOf).compare(v.samples[main], v.samples[a]); m.Differs(v.each()) && m.Ratio < 1 {
			out = a
		}
	}
	if out == main {
		return nil
	}
	return out
}

// unlimited returns the best arm without GOMEMLIMIT that is better than the default, where
// main has one that fits these runs: it is for other inputs, too. nil for none.
func (v *verdict) unlimited(main *Arm) *Arm {
	if !v.r.fits(main) {
		return nil
	}
	arms := slices.DeleteFunc(slices.Clone(v.arms), func(a *Arm) bool { return a.Setting.MemLimit != 0 || !v.r.allowed(a) })
	out, _ := v.pick(arms, func(a *Arm) bool { return v.won[a] })
	return out
}

// bargain returns an arm that gets a good part of what main gains for little of its
// memory, nil where there is none.
func (v *verdict) bargain(main *Arm) *Arm {
	def := v.r.Arms[0]
	extra := v.memory(main) - v.memory(def)
	if main == def || v.growing(main) || !(extra > leastExtra*v.memory(def)) {
		return nil
	}
	var out *Arm
	most := 0.0
	for _, a := range v.arms {
		if a == main || !v.won[a] || !v.r.allowed(a) {
			continue
		}
		gain := math.Log(v.ratio[a].Ratio) / math.Log(v.ratio[main].Ratio)
		if rate, ok := bargain(gain, (v.memory(a)-v.memory(def))/extra); ok && rate > most {
			out, most = a, rate
		}
	}
	return out
}

// below says whether an arm is known not to beat main by more than the margin. What
// is at stake is little, so each look judges it at the full level.
func (v *verdict) below(a, main *Arm) bool {
	if b := v.before[a]; b != nil && b.rests == main {
		return true // as an earlier look found
	}
	lo, _, ok := v.against(a, main).Interval(2 * alpha) // one side of it
	return ok && lo >= 1-v.margin()
}

// rests says whether an arm needs no more rounds while main is recommended: it does
// not beat it, and is not what to take instead to save memory.
func (v *verdict) rests(a, main *Arm) bool {
	saves := a != v.r.Arms[0] && v.memory(a) < v.memory(main)*(1-band)
	return a != main && v.below(a, main) && !(saves && v.tied(a, main))
}

// margin is by how much another arm may at most be better for an answer to be conclusive.
func (v *verdict) margin() float64 { return v.r.obj.spec.Margin() }

// missing estimates how many more rounds it takes to know that no finalist beats
// main by more than the margin, 0 if that is known, and by how much one may. Where main is the
// default, and others look better, it is how many until one of them is known to be.
func (v *verdict) missing(main *Arm) (rounds int, upTo float64) {
	noise := v.noise()
	first := 0
	for _, a := range v.arms {
		if a == main || v.below(a, main) || !v.r.allowed(a) {
			continue
		}
		p := v.against(a, main)
		if lo, ok := v.best(a, main); ok {
			upTo = math.Max(upTo, 1-lo)
		}
		log := likely(math.Log(p.Ratio), noise, p.N)
		n := needed(log, v.margin(), noise, p.N) - p.N
		rounds = max(rounds, n)
		if log < math.Log1p(-v.margin()) && (first == 0 || n < first) {
			first = n
		}
	}
	if main == v.r.Arms[0] && first > 0 {
		rounds = first
	}
	if main != v.r.Arms[0] && !v.won[main] && v.r.allowed(v.r.Arms[0]) {
		rounds = max(rounds, 1)
	}
	return rounds, upTo
}

// best returns the least that the cost of a may be against that of main: of the default as
// far as the interval in the table, so that the two agree.
func (v *verdict) best(a, main *Arm) (ratio float64, ok bool) {
	e := a.Final.Ratio
	switch {
	case main != v.r.Arms[0]:
		ratio, _, ok = v.against(a, main).Interval(v.each())
	case e == nil || e.Lo == nil:
	case v.r.obj.spec.Higher:
		ratio, ok = 1 / *e.Hi, true
	default:
		ratio, ok = *e.Lo, true
	}
	return ratio, ok
}

// noise is how much the finalists' ratios vary from round to round.
func (v *verdict) noise() float64 {
	var all []float64
	for _, a := range v.arms {
		if a != v.r.Arms[0] {
			all = append(all, v.ratio[a].Noise)
		}
	}
	return stat.Median(all)
}

// likely shrinks a log ratio of n rounds by what noise alone may have made of it: what looks
// best owes that to chance, too.
func likely(log, noise float64, n int) float64 {
	chance := noise / math.Sqrt(float64(max(n, 1)))
	if math.Abs(log) <= chance {
		return 0
	}
	return log * (1 - chance*chance/(log*log))
}

// needed estimates how many rounds show that a ratio with that log is not below 1 by more than
// a margin, or that it is below 1; there were n, which did not.
func needed(log, most, noise float64, n int) int {
	if n < 6 {
		return finalRounds // how noisy it is, is not known yet
	}
	const sigmas = 2.5 // between what a difference asks for, and what no difference does
	rounds := math.Inf(1)
	for _, margin := range []float64{log - math.Log1p(-most), -log} {
		if margin > 0 {
			rounds = math.Min(rounds, math.Pow(sigmas*noise/margin, 2))
		}
	}
	rounds = math.Min(rounds, 1e6)
	// A prediction below what there was is refuted; a look needs some pairs at all.
	return max(int(math.Ceil(rounds)), int(math.Ceil(grow*float64(n))), finalRounds)
}

// benchmarks compares each Go benchmark under main with the default.
func (v *verdict) benchmarks(main *Arm) []BenchmarkChange {
	r, def := v.r, v.r.Arms[0]
	if r.Objective.Name != metric.Bench || len(r.Benchmarks) < 2 || main == def {
		return nil
	}
	var pairs []stat.Paired
	var p []float64
	var out []BenchmarkChange
	for _, key := range r.Benchmarks {
		read := reading(func(s *trial.Sample) (float64, bool) {
			x, ok := s.Metrics[key]
			return x, ok && s.OK()
		})
		c := read.compare(v.samples[def], v.samples[main])
		pairs, p = append(pairs, c), append(p, c.P)
		base := stat.Median(read.values(v.samples[def]))
		out = append(out, BenchmarkChange{Name: key, Default: base, Setting: base * c.Ratio})
	}
	levels := stat.Holm(p, v.level, func(i int, level float64) bool { return pairs[i].Differs(level) })
	for i := range out {
		out[i].Ratio = newEstimate(pairs[i], levels[i])
	}
	return slices.DeleteFunc(out, func(b BenchmarkChange) bool { return b.Ratio == nil })
}

// byCPU compares CPU time, which is steadier than wall time where other programs run.
func (v *verdict) byCPU() *CPUChange {
	def := v.r.Arms[0]
	var arms []*Arm
	var pairs []stat.Paired
	var p []float64
	for _, a := range v.arms {
		if a == def || !v.r.allowed(a) {
			continue
		}
		c := reading(cpuOf).compare(v.samples[def], v.samples[a])
		arms, pairs, p = append(arms, a), append(pairs, c), append(p, c.P)
	}
	levels := stat.Holm(p, v.level, func(i int, level float64) bool { return pairs[i].Differs(level) })
	var best *CPUChange
	for i, a := range arms {
		e := newEstimate(pairs[i], levels[i])
		if e != nil && e.Different && e.Ratio < 1 && (best == nil || e.Ratio < best.Ratio.Ratio) {
			best = &CPUChange{a.Name, e}
		}
	}
	return best
}

// MostAdvised is the longest search that a flag is advised for: what takes longer than that
// to find is best looked for with less noise, or less work.
const MostAdvised = time.Hour

// sayUntried notes how many settings the budget had no room for.
func (s *search) sayUntried() {
	if n := s.missed(); n > 0 {
		s.note(fmt.Sprintf("%d of %d settings not tried: --budget %v has no room for them", n, len(s.space.coarse()), unit.Elapsed(s.opts.Budget)))
	}
}

// estimate says how long the rounds and the settings that are missing take.
func (s *search) estimate() {
	a := &s.res.Answer
	if a.State != Inconclusive {
		return
	}
	var open []*Arm
	for _, x := range s.res.Arms {
		if x.Status == Finalist {
			open = append(open, x)
		}
	}
	elapsed, rounds := s.opts.Now().Sub(s.start), s.stageRound()+a.Rounds
	missing := time.Duration(a.Rounds) * s.cost(s.open(open))
	bounded := s.opts.MaxRounds > 0
	switch {
	case a.Untried > 0:
		missing = max(missing, s.whole(max(rounds, finalRounds))-elapsed)
	case len(open) < min(finalists, len(s.space.coarse())) && !bounded:
		missing = max(missing, s.larger(rounds, 0, s.perTrial(nil))-elapsed)
	}
	a.Missing = missing.Seconds()
	if elapsed+missing > MostAdvised {
		if least := s.whole(finalRounds); a.Untried > 0 && least <= MostAdvised {
			a.Try = "--budget " + unit.Span(unit.RoundUp(least))
		}
		return
	}
	budget := "--budget " + unit.Span(unit.RoundUp(elapsed+missing))
	more := bounded && a.Rounds > 0 && !s.res.Interrupted && s.left() > 0
	switch {
	case more && a.Untried > 0:
		a.Try = fmt.Sprintf("--rounds %d %s", rounds, budget)
	case more:
		a.Try = fmt.Sprintf("--rounds %d", rounds)
	default:
		a.Try = budget
	}
}
