package tune

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// Builds are the ways to build the program that a search tries, besides the default's.
type Builds struct {
	// Steps are builds that differ from the default in one thing each.
	Steps []variant.Build
	// Make builds the program, unless it is there already: failed says why it cannot be,
	// in a line. An error ends the search. The time it takes is not the budget's.
	Make func(ctx context.Context, b variant.Build) (failed string, err error)
	// Places says where the files are that keep a build, for recommendations.
	Places Places
}

const (
	// stepRounds is how many rounds the steps get before the winners are combined, and
	// fewStepRounds the least that says anything.
	stepRounds    = 6
	fewStepRounds = 3
	// leastStep is the gain, as a log ratio, from which on a step is combined with others.
	leastStep = 0.005
	// explainRounds is how many rounds an arm gets that joins a final late: enough for an
	// interval at the level of a second look.
	explainRounds = 16
)

// InBuilds is the stage in which the steps of [Builds] run, without other settings.
const InBuilds Stage = "builds"

// A Step is one thing that builds differ in, or the settings of the runtime, and what it
// gives.
type Step struct {
	What string `json:"what" redact:"named"` // as arms are named
	Arm  string `json:"arm" redact:"named"`  // that has this and nothing else; "" where it was not in the final
	// Alone compares that arm with the default; nil where that is not known.
	Alone *Estimate `json:"alone"`
	// In says that it is part of what is recommended.
	In     bool   `json:"recommended"`
	Failed string `json:"failed,omitempty" redact:"prose"` // why it could not be built, or did not survive
}

// base is the setting that the settings of the runtime are searched from.
func (s *search) base() trial.Setting { return s.space.base }

// ref returns the arm of the base: the default, unless other builds are better.
func (s *search) ref() *Arm {
	if a := s.arm(s.base()); a != nil {
		return a
	}
	return s.def()
}

// plainBuild says whether an arm differs from the default by its build alone, and is no
// rival of other settings: it is in the final because the user asked for it.
func (s *search) plainBuild(a *Arm) bool {
	set := a.Setting
	set.Build = s.opts.Base.Build
	return len(s.opts.Builds.Steps) > 0 && !a.Setting.Build.IsZero() && set.String() == s.opts.Base.String()
}

// steps returns the arms that differ from the default by their build alone and can run.
func (s *search) steps() []*Arm {
	var out []*Arm
	for _, a := range s.res.Arms[1:] {
		if s.plainBuild(a) && alive(a) {
			out = append(out, a)
		}
	}
	return out
}

// enter enters the arm of a build, and builds it. It does not return an arm that cannot be
// built; that one says why.
func (s *search) enter(ctx context.Context, set trial.Setting) (*Arm, error) {
	a := s.add(set)
	if len(a.Samples) > 0 || a.Status == Failed {
		return a, nil
	}
	began := s.opts.Now()
	failed, err := s.opts.Builds.Make(ctx, set.Build)
	s.start = s.start.Add(s.opts.Now().Sub(began))
	if err != nil {
		return a, err
	}
	if failed != "" {
		a.Status, a.Reason, a.Unbuilt = Failed, failed, true
	}
	return a, nil
}

// builds runs the steps, combines the winners, and makes what they are the base of the
// race.
func (s *search) builds(ctx context.Context) error {
	s.stage = InBuilds
	arms := []*Arm{s.def()}
	for _, b := range s.opts.Builds.Steps {
		set := s.opts.Base
		set.Build = b
		a, err := s.enter(ctx, set)
		if err != nil {
			return err
		}
		if alive(a) {
			arms = append(arms, a)
		}
	}
	rounds := s.stepRounds(arms)
	s.aim = rounds
	for range rounds {
		if err := s.round(ctx, arms, false); err != nil {
			return err
		}
		for _, a := range arms {
			s.res.judge(a)
		}
		s.partial()
		if err := s.checkDefault(); err != nil {
			return err
		}
		arms = slices.DeleteFunc(arms, func(a *Arm) bool { return !alive(a) })
	}
	if rounds == 0 {
		s.note(fmt.Sprintf("builds were not combined: the budget has room for %d runs", int(s.left()/max(s.perTrial(nil), 1))))
		s.direct, s.untried = true, s.space.coarse()[1:]
		return nil
	}
	return s.combine(ctx, arms)
}

// stepRounds is how many rounds of the steps the budget has room for: a third of it; 0
// where they should go to the final at once.
func (s *search) stepRounds(arms []*Arm) int {
	each := s.perTrial(nil) * time.Duration(len(arms))
	n := min(int(s.left()/3/max(each, 1)), stepRounds)
	if n < fewStepRounds {
		return 0
	}
	return n
}

// combine enters the build that has all winners, and makes the best build the base.
func (s *search) combine(ctx context.Context, arms []*Arm) error {
	st := s.standing()
	gain := func(a *Arm) float64 {
		g, _ := st.gap(s.def(), a)
		return g
	}
	winners := slices.DeleteFunc(slices.Clone(arms), func(a *Arm) bool {
		g, doubt := st.gap(s.def(), a)
		return a == s.def() || st.score[a] == 0 || !s.res.allowed(a) || g < leastStep || g < doubt
	})
	slices.SortStableFunc(winners, func(a, b *Arm) int { return cmp.Compare(gain(b), gain(a)) })
	if len(winners) == 0 {
		return nil
	}
	s.space.base = winners[0].Setting
	for n := len(winners); n > 1; n-- {
		set := winners[0].Setting
		for _, a := range winners[1:n] {
			if !set.Build.Conflicts(a.Setting.Build) {
				set.Build = set.Build.With(a.Setting.Build)
			}
		}
		if set.Build == winners[0].Setting.Build {
			return nil
		}
		a, err := s.enter(ctx, set)
		if err != nil {
			return err
		}
		if alive(a) {
			s.space.base = set
			return nil
		}
		s.note(fmt.Sprintf("%s: %s", a.Name, a.Reason)) // again without the least of them
	}
	return nil
}

// settingsAlone returns the arm that has the settings of the runtime of a and the build of
// the default, which it enters; nil where a has no other build, or no other settings.
func (s *search) settingsAlone(a *Arm) *Arm {
	set := a.Setting
	set.Build = s.opts.Base.Build
	if a.Setting.Build == set.Build || set.String() == s.opts.Base.String() {
		return nil
	}
	out := s.add(set)
	if out.Status == Failed || out.Status == OverLimit {
		return nil // one that does the same as another is of interest all the same
	}
	return out
}

// unexplained returns a further finalist: the one that says what the settings give alone
// that are recommended together with a build. The race may have had another one in mind.
// It is nil where that is known, or there is no time for it.
func (s *search) unexplained() *Arm {
	const most = 2 // what is recommended may change while it runs
	recs := s.res.Answer.Recommended
	if len(s.opts.Builds.Steps) == 0 || len(recs) == 0 || s.explained >= most {
		return nil
	}
	known := len(s.res.Arms)
	a := s.settingsAlone(recs[0].Arm)
	switch {
	case a == nil || a.Status == Finalist:
		return nil
	case explainRounds*s.cost([]*Arm{s.def(), recs[0].Arm, a}) > s.left():
		s.res.Arms = s.res.Arms[:known] // it was entered just now, if it is new
		return nil
	}
	s.explained++
	a.Status, a.Left, a.Reason = Finalist, nil, ""
	return a
}

// sayBuilt fills in what each step gives, and all of them together.
func (r *Result) sayBuilt(main *Arm) {
	r.Answer.Steps = nil
	if len(r.steps) == 0 {
		return
	}
	base := r.Arms[0].Setting
	named := func(set trial.Setting) *Arm {
		for _, a := range r.Arms {
			if a.Setting.String() == set.String() {
				return a
			}
		}
		return nil
	}
	add := func(what string, set trial.Setting, in bool) {
		st := Step{What: what, In: in}
		if a := named(set); a != nil {
			switch {
			case a.Status == Failed:
				st.Failed = a.Reason
			case a.Final != nil:
				st.Arm, st.Alone = a.Name, a.Final.Ratio
			}
		}
		r.Answer.Steps = append(r.Answer.Steps, st)
	}
	for _, b := range r.steps {
		set := base
		set.Build = b
		add(b.String(), set, main.Setting.Build.Has(b))
	}
	alone := main.Setting
	alone.Build = base.Build
	if alone.String() != base.String() {
		add(alone.String(), alone, true)
	}
}
