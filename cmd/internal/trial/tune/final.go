package tune

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/trial"
)

const (
	// finalRounds is how many rounds a final has at least, if the budget allows.
	finalRounds = 10
	// finalists is how many arms a final has, the default among them; one more when
	// there is a memory bound.
	finalists = 6
	// leastFinalists is how many the race leaves time for.
	leastFinalists = 3
	// taxRounds is in how many rounds of the final the CPU is sampled: six a side
	// is what it takes to tell two medians with confidence.
	taxRounds = 6
	// grow is by how much a final that was inconclusive goes on before the next look.
	grow = 1.6
)

// final runs the finalists until the answer is conclusive, the rounds that were asked
// for are over, or the budget is spent.
func (s *search) final(ctx context.Context) error {
	r := s.res
	r.RaceRounds = s.sched.Rounds()
	s.stage, s.aim = InFinal, finalRounds
	if s.opts.MaxRounds > 0 {
		s.aim = s.opts.MaxRounds
	}
	arms := s.finalists()
	for _, a := range arms {
		a.Status = Finalist
	}
	s.leave()
	for {
		err := s.rounds(ctx, s.open(arms))
		spent := errors.Is(err, errBudget)
		if err != nil && !spent {
			return err
		}
		if !slices.ContainsFunc(r.Arms[1:], alive) {
			others := s.others([]*Arm{s.def()})
			if len(others) == 0 || spent {
				return nil // finish says so
			}
			arms, s.aim = append([]*Arm{s.def()}, others...), s.stageRound()+finalRounds
			continue
		}
		last := spent || s.opts.MaxRounds > 0 || s.cost(s.open(arms)) > s.left()
		s.conclude(s.share(last))
		if a := s.unexplained(); a != nil && !last {
			arms, s.aim = append(arms, a), s.stageRound()+explainRounds
			continue
		}
		switch {
		case r.Answer.State == Conclusive:
			r.Ended = "conclusive"
			return nil
		case r.Answer.State == Inconclusive && r.Answer.Rounds == 0: // more rounds tell nothing of those
			if others := s.others(s.open(arms)); len(others) > 0 && !spent {
				arms, s.aim = append(arms, others...), s.stageRound()+finalRounds
				continue
			}
			r.Ended = "the budget has no room for all settings"
			return nil
		case last && !spent && s.opts.MaxRounds > 0:
			r.Ended = "--rounds is reached"
			return nil
		case last:
			r.Ended = errBudget.Error()
			return nil
		}
		s.aim = int(math.Ceil(grow * float64(s.aim)))
	}
}

// conclude looks at the final so far.
func (s *search) conclude(level float64) {
	s.res.untried = s.missed()
	s.res.conclude(level)
}

// others enters the next settings that there was no room for, now that enough is known of those that
// were tried: as many as the budget has room for in a final beside arms, and one if it is short.
func (s *search) others(arms []*Arm) (out []*Arm) {
	each := s.perTrial(nil)
	if s.opts.MaxRounds > 0 || s.res.Inert != "" || s.left() < s.cost(arms)+each {
		return nil
	}
	n := int((s.left() - finalRounds*s.cost(arms)) / max(finalRounds*each, 1))
	n = min(max(n, 1), len(s.untried))
	for _, set := range s.untried[:n] {
		if a := s.add(set); len(a.Samples) == 0 {
			a.Status = Finalist
			out = append(out, a)
		}
	}
	s.untried = s.untried[n:]
	return out
}

// rounds runs rounds of the final until there are as many as s.aim.
func (s *search) rounds(ctx context.Context, arms []*Arm) error {
	for {
		n := s.stageRound()
		if n >= s.aim {
			return nil
		}
		if err := s.round(ctx, arms, sampleRound(n+1)); err != nil {
			return err
		}
		if n == 0 && s.direct { // there was no race to find it out in
			s.alike()
		}
		for _, a := range arms {
			s.res.judge(a)
		}
		arms = slices.DeleteFunc(slices.Clone(arms), func(a *Arm) bool { return !alive(a) })
		s.partial()
		if err := s.checkDefault(); err != nil {
			return err
		}
		if len(arms) < 2 {
			return nil
		}
	}
}

// sampleRound says whether the n-th round of the final samples the CPU: all arms of
// it, since sampling slows a program by some percent.
func sampleRound(n int) bool { return n < 2*taxRounds-2 && n%2 == 1 || n == 2*taxRounds-2 }

// share returns the error that a look at the final may make: half of all for the
// first, which most finals end with, and the rest in equal parts for as many looks
// as the budget may have room for.
func (s *search) share(last bool) float64 {
	left := alpha - s.spent
	part := left
	switch {
	case last:
	case s.spent == 0:
		part = alpha / 2
	default:
		part = left / float64(max(s.looks(), 1))
	}
	s.spent += part
	return part
}

// looks estimates how many looks the budget has room for, this one included.
func (s *search) looks() int {
	round := float64(max(s.cost(s.open(s.res.Arms)), 1))
	most := float64(s.aim) + float64(s.left())/round
	return 1 + int(math.Ceil(math.Log(max(most/float64(s.aim), 1))/math.Log(grow)))
}

// open returns those of the finalists that more rounds are for: all but those of
// which enough is known.
func (s *search) open(arms []*Arm) []*Arm {
	return slices.DeleteFunc(slices.Clone(arms), func(a *Arm) bool {
		return a.Status != Finalist || a != s.def() && a.Final != nil && a.Final.rests != nil
	})
}

// finalists returns the arms of the final: the default, the best of the race, its
// rivals, and the candidates for the other answers.
func (s *search) finalists() []*Arm {
	if s.opts.Exhaustive || s.direct {
		return slices.DeleteFunc(slices.Clone(s.res.Arms), func(a *Arm) bool { return !alive(a) })
	}
	f := field{s: s, st: s.standing(), seats: s.seats()}
	f.best = f.st.leader(s.res.Arms, fewRounds, s.res.allowed)
	if f.best == nil {
		return []*Arm{s.def()}
	}
	f.join(s.def())
	f.join(f.best)
	for _, a := range s.steps() {
		f.join(a)
	}
	f.join(s.settingsAlone(f.best))
	rivals := f.rivals(alive)
	f.joinFirst(rivals, 2, byScore)
	f.joinFirst(rivals, 1, byMemory)
	f.join(f.onlyHuge())
	f.join(f.unlimited())
	if len(f.in) < f.seats {
		f.join(f.compromise())
	}
	f.joinFirst(rivals, f.seats, byScore)
	if len(f.in) < 2 {
		f.joinFirst(s.res.Arms[1:], 2, byScore) // to show that the default is better
	}
	return f.in
}

// A field chooses finalists by what the race showed.
type field struct {
	s    *search
	st   standing
	best *Arm
	in   []*Arm

	seats int
}

func (f *field) join(a *Arm) {
	if a != nil && !slices.Contains(f.in, a) {
		f.in = append(f.in, a)
	}
}

// rivals returns the arms whose interval reaches the best.
func (f *field) rivals(ok func(*Arm) bool) []*Arm {
	var out []*Arm
	for _, a := range f.s.res.Arms {
		if !ok(a) || a == f.best || f.st.score[a] == 0 {
			continue
		}
		if gap, doubt := f.st.gap(a, f.best); gap <= band+2*doubt {
			out = append(out, a)
		}
	}
	return out
}

type order func(f *field, a, b *Arm) int

func byScore(f *field, a, b *Arm) int { return cmp.Compare(f.st.score[a], f.st.score[b]) }

// byMemory puts those that look nearly as good first that take clearly less memory
// than the best.
func byMemory(f *field, a, b *Arm) int {
	less := func(x *Arm) float64 { return math.Min(memory(x)/memory(f.best), 1-band) }
	return cmp.Or(cmp.Compare(less(a), less(b)), byScore(f, a, b))
}

// onlyHuge returns the arm that has the best one's huge pages and sets nothing else, nil
// where there is none. Huge pages may be all of the gain, and the race, in which many
// then are as good, has few runs of each: its part is compared even if it was dropped early.
func (f *field) onlyHuge() *Arm {
	thp := f.best.Setting.THP
	if thp == trial.THPSystem || len(f.in) >= f.seats {
		return nil
	}
	for _, a := range f.s.res.Arms {
		only := a.Setting.THP == thp && a.Setting.Build == f.best.Setting.Build && a.Setting.Parts() == 1+len(a.Setting.Build.Steps())
		if !only || !alive(a) || f.st.score[a] == 0 {
			continue
		}
		if gap, doubt := f.st.gap(a, f.best); gap > 5*band+2*doubt {
			return nil // the rest of the setting gains, too
		}
		return a
	}
	return nil
}

// unlimited returns the best arm without GOMEMLIMIT where the best one has one that only this
// input suggests, even if it was dropped early; nil else.
func (f *field) unlimited() (out *Arm) {
	if !f.s.res.fits(f.best) {
		return nil
	}
	for _, a := range f.s.res.Arms[1:] {
		if alive(a) && a.Setting.MemLimit == 0 && f.st.score[a] != 0 && (out == nil || f.st.score[a] < f.st.score[out]) {
			out = a
		}
	}
	return out
}

// fits reports whether an arm has a GOMEMLIMIT that was laid around the heap of these runs: no
// limit of the program suggests it.
func (r *Result) fits(a *Arm) bool {
	return a.Setting.MemLimit > 0 && r.Arms[0].Setting.MemLimit == 0 && !r.bounded
}

// joinFirst lets the first n of arms join, in an order, as far as there is room.
func (f *field) joinFirst(arms []*Arm, n int, by order) {
	arms = slices.Clone(arms)
	slices.SortStableFunc(arms, func(a, b *Arm) int { return by(f, a, b) })
	for _, a := range arms {
		if n <= 0 || len(f.in) >= f.seats {
			return
		}
		if alive(a) && !slices.Contains(f.in, a) {
			f.in = append(f.in, a)
			n--
		}
	}
}

// compromise returns the arm that gets most of the gain for least of the memory of
// the finalist that is likely to be recommended, nil where there is none.
func (f *field) compromise() *Arm {
	def, likely := f.s.def(), f.best
	for _, a := range f.in {
		if gap, _ := f.st.gap(a, f.best); a != def && gap <= band && memory(a) < memory(likely) {
			likely = a
		}
	}
	gain, doubt := f.st.gap(def, likely)
	extra := memory(likely) - memory(def)
	if gain < 2*doubt || !(extra > leastExtra*memory(def)) {
		return nil
	}
	var out *Arm
	most := 0.0
	for _, a := range f.s.res.Arms {
		if !alive(a) || a == def || a == likely || f.st.score[a] == 0 {
			continue
		}
		behind, _ := f.st.gap(a, likely)
		if v, ok := bargain(1-behind/gain, (memory(a)-memory(def))/extra); ok && v > most {
			out, most = a, v
		}
	}
	return out
}

// leastExtra is the part of the default's memory from which on more is a price.
const leastExtra = 0.1

// bargain rates parts of a gain and of its price; ok says whether so much for so
// little is worth a word: a third of the gain or more for half of the memory or less.
func bargain(gain, price float64) (rate float64, ok bool) {
	return gain - price, gain >= 1./3 && price <= 0.5 && price >= 0
}

// round runs a round of arms and counts it.
func (s *search) round(ctx context.Context, arms []*Arm, sampled bool) error {
	s.sampled, s.running = sampled, len(arms)
	plain := make([]*trial.Arm, len(arms))
	for i, a := range arms {
		plain[i] = a.Arm
	}
	if err := s.sched.Round(ctx, plain); err != nil {
		return err
	}
	return s.incomparable(fewRounds)
}
