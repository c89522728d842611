package tune

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// A Status says where an arm stands.
type Status string

const (
	Racing   Status = "racing"     // the race ended before it was decided
	Finalist Status = "final"      // ran in the final
	Early    Status = "left_early" // left the race before the final
	Same     Status = "same"       // does what another setting does: Reason says which
	Failed   Status = "failed"     // the program did not survive the setting
	// OverLimit: a run broke a limit of [Limits].
	OverLimit Status = "over_limit"
)

// An Arm is a contender with the state of its race.
type Arm struct {
	*trial.Arm
	Status Status
	Reason string // why it is not in the final
	Final  *Final // what the final showed; nil for others
	Left   *Left  // what is known of an arm that was dropped early; nil for others
	// Unbuilt says that it failed because its program could not be built: it never ran.
	Unbuilt bool
}

// racing says that the arm may still come into the final.
func (a *Arm) racing() bool { return a.Status == Racing }

func alive(a *Arm) bool { return a.Status != Failed && a.Status != Same && a.Status != OverLimit }

// Left is what is known of an arm that left the race early. Its few samples were
// taken while the machine was as it was then: no percentage is made of them.
type Left struct {
	Rounds int `json:"rounds"`
	// AtLeast is how many times as slow as SlowerThan it is at least, rounded
	// down to a coarse step, where that is beyond doubt; else 0.
	AtLeast    float64 `json:"at_least,omitempty"`
	SlowerThan string  `json:"slower_than,omitempty" redact:"named"`
	// About is the metric as the race saw it, on the scale of the final. It places a
	// point in a picture and is not to be compared; 0 where it is not known.
	About float64 `json:"about,omitempty"`
}

const (
	// band is how much worse than the best an arm may be and still count as
	// equal, in the race and for the goal of least memory.
	band = 0.02
	// fewRounds is what an arm gets in the race.
	fewRounds = 3
	// semifinalists is how many arms go on after two rounds.
	semifinalists = 8
)

// race runs rounds until the candidates are known, as far as the budget allows
// that leaves room for the final.
func (s *search) race(ctx context.Context) error {
	for {
		arms := s.next()
		if len(arms) < 2 || !s.roomFor(arms) {
			return nil
		}
		if err := s.round(ctx, arms, false); err != nil {
			return err
		}
		s.alike()
		s.judge()
		s.partial()
		if err := s.checkDefault(); err != nil {
			return err
		}
		s.widen()
	}
}

// next returns the arms of the next round: those that have not had their rounds,
// and the default and the leaders to compare them with.
func (s *search) next() []*Arm {
	var open []*Arm
	for _, a := range s.res.Arms {
		if a.racing() && a != s.def() && len(a.Samples) < fewRounds {
			open = append(open, a)
		}
	}
	if len(open) == 0 {
		return nil
	}
	for _, a := range s.leaders() {
		if a != nil && !slices.Contains(open, a) {
			open = append(open, a)
		}
	}
	return open
}

// leaders returns the default and the best so far, nil if there is none.
func (s *search) leaders() []*Arm {
	st := s.standing()
	return []*Arm{s.def(), st.leader(s.res.Arms, fewRounds, s.res.allowed)}
}

// judge takes arms out of the race that fail, are clearly slower, or that enough
// others are better than.
func (s *search) judge() {
	for _, a := range s.res.Arms {
		if a.racing() {
			s.res.judge(a)
		}
	}
	st := s.standing()
	lead := s.leaders()
	best := lead[1]
	if best == nil {
		return
	}
	for _, a := range s.res.Arms {
		if !a.racing() || slices.Contains(lead, a) || s.plainBuild(a) || !st.slower(a, best) {
			continue
		}
		a.Status, a.Reason = Early, "slower than "+best.Name
	}
	s.cut(lead, st)
}

// cut bounds the race: once arms have had two rounds only the best few go on, and
// the cheapest of the nearly best.
func (s *search) cut(keep []*Arm, st standing) {
	var ready []*Arm
	cheapest := keep[1]
	for _, a := range s.res.Arms {
		if !a.racing() || a == s.def() || s.plainBuild(a) || len(st.adjusted[a]) < 2 {
			continue
		}
		ready = append(ready, a)
		if st.score[a] <= st.score[keep[1]]*(1+band) && memory(a) < memory(cheapest) {
			cheapest = a
		}
	}
	keep = append(slices.Clone(keep), cheapest)
	slices.SortStableFunc(ready, func(a, b *Arm) int { return cmp.Compare(st.score[b], st.score[a]) })
	for left := len(ready); len(ready) > 0 && left > semifinalists; ready = ready[1:] {
		if a := ready[0]; !slices.Contains(keep, a) {
			a.Status, a.Reason = Early, "others looked better in the race"
			left--
		}
	}
}

// judgeFailures takes out an arm that the program does not survive. A memory bound or limit that
// was passed needs no second look; other failures get one.
func judgeFailures(a *Arm) {
	failed, slow := 0, 0
	a.Reason = ""
	for _, s := range a.Samples {
		if s.FailureKind == trial.FailedGuardrail {
			a.Status, a.Reason = OverLimit, s.Failure
			return
		}
		if s.OverMemory || s.OutOfMemory() {
			a.Status, a.Reason = Failed, s.Failure
			return
		}
		if s.TimedOut {
			slow++
		}
		if !s.OK() {
			failed++
			a.Reason = s.Failure
		}
	}
	// One slow run among good ones is the machine's: it may have been busy, or asleep.
	if none := failed == len(a.Samples); slow > 1 || none && (slow > 0 || failed > 1) {
		a.Status = Failed
	} else {
		a.Reason = ""
	}
}

// widen fills in the neighborhood of the best, twice, once the arms of the race
// have had their rounds, and crosses the best with the further dimensions.
func (s *search) widen() {
	if s.refine >= 2 || len(s.next()) > 0 || s.opts.Only != nil {
		return
	}
	s.refine++
	st := s.standing()
	best := st.leader(s.res.Arms, fewRounds, s.res.allowed)
	if best == nil {
		return
	}
	around := []*Arm{best}
	// The cheapest of the nearly best is an answer too. And without huge pages the best
	// level may be another.
	for _, a := range []*Arm{
		st.cheapest(s.res.Arms, best),
		st.leader(s.res.Arms, fewRounds, func(a *Arm) bool {
			return s.space.huge && a.racing() && a != s.def() && a.Setting.THP == trial.THPSystem
		}),
	} {
		if a != nil && !slices.Contains(around, a) {
			around = append(around, a)
		}
	}
	if best != s.def() && s.res.allowed(s.def()) && !st.faster(best, s.def()) {
		around = nil // nothing beats the default yet: no neighborhood is worth it
	}
	for _, a := range around {
		if a.Setting.GOGC == trial.Off && s.inertLimit || a.Setting.GOGC != trial.Off && s.inertGOGC {
			continue
		}
		for _, c := range s.space.around(a.Setting) {
			s.add(c)
		}
	}
	if s.refine == 1 {
		for _, c := range s.space.crosses(best.Setting) {
			s.add(c)
		}
		return
	}
	if s.space.huge {
		for _, c := range s.space.other(best.Setting) { // the best may be another one by now
			s.add(c)
		}
	}
	if best.Setting.Build != s.opts.Base.Build || s.ref() != s.def() { // what is best together may be other builds
		s.settingsAlone(best)
		for _, a := range s.steps() {
			set := best.Setting
			set.Build = a.Setting.Build
			s.add(set)
		}
	}
}

// cheapest returns the arm with the least memory among those that look at most band
// slower than best.
func (st standing) cheapest(arms []*Arm, best *Arm) *Arm {
	out := best
	for _, a := range arms {
		v, ok := st.score[a]
		if ok && alive(a) && v <= st.score[best]*(1+band) && len(a.Samples) >= min(fewRounds, len(best.Samples)) && memory(a) < memory(out) {
			out = a
		}
	}
	return out
}

// leave says what is known of the arms that are not in the final.
func (s *search) leave() {
	r := s.res
	st := s.standing()
	def, best := s.def(), st.leader(r.Arms, fewRounds, alive)
	for _, a := range r.Arms {
		if a.Status == Racing {
			a.Status, a.Reason = Early, "others looked better in the race"
		}
		if a.Status != Early {
			continue
		}
		a.Left = &Left{Rounds: len(a.Samples)}
		for _, than := range []*Arm{def, best} {
			if than == nil || a.Left.AtLeast > 0 {
				continue
			}
			if x := s.atLeast(st, a, than); x > 0 {
				a.Left.AtLeast, a.Left.SlowerThan = x, than.Name
			}
		}
	}
	r.about = make(map[*Arm]float64)
	for a, v := range st.score {
		if base := st.score[def]; base > 0 {
			r.about[a] = v / base
		}
	}
}

// atLeast returns the largest coarse step by which a is slower than another arm
// beyond doubt, 0 for none: every round and every trial shows it, and the middle is
// further above it than noise goes, five standard errors, since many settings leave.
func (s *search) atLeast(st standing, a, than *Arm) float64 {
	const sigmas = 5
	pairs := stat.PairedRatio(reading(s.obj.cost).pairs(than.Samples, a.Samples))
	if pairs.N < 2 || len(st.adjusted[a]) < 2 {
		return 0
	}
	gap, doubt := st.gap(a, than)
	bound := min(pairs.Lo, st.least(a, than), math.Exp(gap-sigmas*doubt))
	out := 0.0
	for _, step := range []float64{1.25, 1.5, 2, 3, 5, 10, 20, 50, 100} {
		if bound >= step {
			out = step
		}
	}
	return out
}
