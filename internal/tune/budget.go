package tune

import (
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/internal/trial"
)

// admit enters the coarse arms, most informative first, as long as the budget
// has room for a few rounds of all that are in the race. Two arms always run:
// what one run takes is known better after the first rounds.
func (s *search) admit() {
	for len(s.waiting) > 0 {
		rounds := time.Duration(fewRounds)
		if len(s.res.Arms) >= 2 && rounds*(s.cost(s.racing())+s.perTrial(nil)) > s.left() {
			return
		}
		s.add(s.waiting[0])
		s.waiting = s.waiting[1:]
	}
}

func (s *search) sayWaiting() {
	if n := len(s.waiting); n > 0 {
		s.note(fmt.Sprintf("%d of %d coarse settings were not tried: one run takes %v and --budget is %v",
			n, len(s.space.coarse()), s.perTrial(nil).Round(10*time.Millisecond), s.opts.Budget))
	}
}

// left is what remains of the budget.
func (s *search) left() time.Duration { return s.opts.Budget - s.opts.Now().Sub(s.start) }

// affordable returns the arms of the next round: all, or as many of the best as
// the rest of the budget pays for.
func (s *search) affordable(arms []*Arm) []*Arm {
	left := s.left()
	if s.sched.Rounds() == 0 || s.cost(arms) <= left {
		return arms
	}
	scores := s.obj.scores(arms)
	slices.SortStableFunc(arms, func(a, b *Arm) int {
		switch x, y := scores[a], scores[b]; {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	for len(arms) >= 2 && s.cost(arms) > left {
		arms = arms[:len(arms)-1]
	}
	if len(arms) < 2 {
		s.res.Ended = budgetSpent
		return nil
	}
	return arms
}

// cost estimates how long a round of arms takes.
func (s *search) cost(arms []*Arm) time.Duration {
	var sum time.Duration
	for _, a := range arms {
		sum += s.perTrial(a)
	}
	return sum
}

// perTrial is how long a trial of a took on average, from its start to that of
// the next; of an arm that has not run, or nil, what the default took.
func (s *search) perTrial(a *Arm) time.Duration {
	if a == nil || s.trials[a.Arm] == 0 {
		a = s.res.Arms[0]
	}
	return s.took[a.Arm] / time.Duration(max(s.trials[a.Arm], 1))
}

func (s *search) observe(arm *trial.Arm, round int, sample *trial.Sample) {
	now := s.opts.Now()
	if sample == nil {
		s.began = now
	} else {
		s.took[arm] += now.Sub(s.began)
		s.trials[arm]++
		s.counts++
	}
	if s.opts.Progress == nil {
		return
	}
	p := Progress{Round: round, Trials: s.counts, Sample: sample}
	for _, a := range s.res.Arms {
		if a.Arm == arm {
			p.Arm = a
		}
		if a.racing() {
			p.Racing++
		}
	}
	if s.obj != nil {
		p.Best = leader(s.res.Arms, s.obj.scores(s.res.Arms), fewRounds, alive)
		p.Left = s.atMost()
	}
	s.opts.Progress(p)
}

// atMost bounds how long the search still takes.
func (s *search) atMost() time.Duration {
	var sum time.Duration
	for _, a := range s.racing() {
		sum += time.Duration(s.opts.MaxRounds-len(a.Samples)) * s.cost([]*Arm{a})
	}
	if s.opts.Exhaustive {
		return sum
	}
	return max(min(sum, s.left()), 0)
}
