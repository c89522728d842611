package tune

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// errBudget ends a round that the budget has no more time for.
var errBudget = errors.New("the time budget is spent")

// A timed runner keeps trials within the budget: it starts none that would not fit,
// and ends those that take longer than there is time.
type timed struct {
	runner trial.Runner
	s      *search
}

func (t timed) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	s := t.s
	if s.opts.Exhaustive {
		req.Timeout = s.limit(set)
		return t.runner.Run(ctx, set, req)
	}
	left := s.left()
	if s.res.Warmup != nil && left < s.perTrial(s.arm(set))*9/10 {
		return nil, errBudget
	}
	limit := s.limit(set)
	ours := limit == 0 || left < limit
	if ours {
		limit = max(left, time.Millisecond)
	}
	req.Timeout = limit
	sample, err := t.runner.Run(ctx, set, req)
	switch {
	case err != nil || !sample.TimedOut || !ours:
		if err == nil && sample.Late() {
			s.late++
		}
		return sample, err
	case s.res.Warmup == nil:
		return nil, s.endless()
	}
	return nil, errBudget
}

// endless is the error for a budget that was spent before the first run counted.
func (s *search) endless() error {
	budget := unit.Span(s.opts.Budget)
	switch spec := s.opts.Metric; {
	case s.late > 0:
		return fmt.Errorf("no run counted within --budget %s: the load generator was late in %s: give generator and server CPUs of their own, lower the rate, or give a larger --budget", budget, unit.Plural(s.late, "run"))
	case spec != nil && spec.OfLoad():
		return fmt.Errorf("the first run did not end within --budget %s: it takes the server's start, --load-warmup and --load-duration; give a larger --budget, or a shorter load", budget)
	}
	return fmt.Errorf("the first run did not end within --budget %s: tune needs a program that ends by itself; put a server under load with --ready and --rate, or give a larger --budget", budget)
}

// limit is how long a run may take, budget aside; 0 for any time.
func (s *search) limit(set trial.Setting) time.Duration {
	if s.opts.Request.Timeout > 0 || s.res.Warmup == nil || s.opts.PID != 0 { // blocks take as long as GC cycles are apart
		return s.opts.Request.Timeout
	}
	limit := 6*time.Duration(s.res.Warmup.Wall*float64(time.Second)) + 2*time.Second
	if s.arm(set) == s.def() {
		limit *= 5 // it is known to end: the machine may have stood still
	}
	return limit
}

// arm returns the arm of a setting, nil if it is none.
func (s *search) arm(set trial.Setting) *Arm {
	name := set.String()
	for _, a := range s.res.Arms {
		if a.Setting.String() == name {
			return a
		}
	}
	return nil
}

// admit enters the coarse arms, most informative first: as many as the budget has
// room for, with a final. Where that is no more than a final takes, there is no
// race: it reports that.
func (s *search) admit() (direct bool, err error) {
	coarse := s.space.coarse()
	each := s.perTrial(nil)
	runs := int(s.left() / max(each, 1))
	steps := s.steps()
	if runs < 2 && len(steps) > 0 {
		s.untried = coarse[1:]
		return true, nil // they were compared
	} else if runs < 2 {
		advice := fmt.Sprintf("give the program less work: %d runs take more than an hour", 1+2*finalRounds)
		if least := each + 2*finalRounds*each; least <= MostAdvised {
			advice = fmt.Sprintf("give --budget %v or more", unit.Span(unit.RoundUp(least)))
		}
		return false, fmt.Errorf("--budget %v: one run takes %v: no settings can be compared; %s",
			unit.Span(s.opts.Budget), each.Round(10*time.Millisecond), advice)
	}
	runs = max(runs-finalRounds*len(steps), 0)
	n := entrants(runs)
	n = min(n, len(coarse))
	for _, set := range coarse[:n] {
		s.add(set)
	}
	s.untried = coarse[n:]
	most := finalists
	if s.opts.Only != nil {
		most = leastFinalists
	}
	return len(s.res.Arms)-len(steps) <= most, nil
}

// entrants is how many arms enter a search that has time for so many runs.
func entrants(runs int) int {
	n := max(runs/finalRounds, 2) // all of them in the final
	if raced := (runs - leastFinalists*finalRounds) / 2; raced > max(n, finalists-1) {
		return raced
	}
	return n
}

// larger estimates how long a search takes of which the final has so many rounds. One with a
// larger budget enters more arms than this one did, and has more finalists.
// It has time for so many runs at least.
func (s *search) larger(rounds, runs int, each time.Duration) time.Duration {
	coarse := len(s.space.coarse())
	for range 20 { // it has hardly any steps
		n := min(entrants(runs), coarse)
		need := 1 + n*rounds
		if n > finalists {
			need = 1 + n*fewRounds + finalists*rounds
		}
		if need <= runs {
			break
		}
		runs = need
	}
	return time.Duration(runs) * each
}

// whole estimates how long a search takes that tries all coarse settings, and whose final has
// so many rounds.
func (s *search) whole(rounds int) time.Duration {
	runs := 0
	for entrants(runs) < len(s.space.coarse()) {
		runs++
	}
	// What a run takes is known from the warm-up alone when the settings are chosen.
	each := max(s.perTrial(nil), time.Duration(s.res.Warmup.Wall*float64(time.Second)))
	steps := finalRounds * len(s.opts.Builds.Steps)
	if steps > 0 {
		steps += stepRounds * (1 + len(s.opts.Builds.Steps))
	}
	return s.larger(rounds, 1+runs, each) + time.Duration(steps)*each
}

// left is what remains of the budget.
func (s *search) left() time.Duration { return s.opts.Budget - s.opts.Now().Sub(s.start) }

// roomFor says whether the budget has room for a round of the race and a final
// after it.
func (s *search) roomFor(arms []*Arm) bool {
	return s.cost(arms)+time.Duration(leastFinalists+len(s.steps()))*s.finalist() <= s.left()
}

// finalist estimates how long the rounds of one finalist take.
func (s *search) finalist() time.Duration {
	var racing []*Arm
	for _, a := range s.res.Arms {
		if a.racing() {
			racing = append(racing, a)
		}
	}
	return finalRounds * s.cost(racing) / time.Duration(max(len(racing), 1))
}

// seats returns how many finalists the budget has room for. Builds that were asked for
// have theirs.
func (s *search) seats() int {
	more := 0
	if steps := s.steps(); len(steps) > 0 {
		more = len(steps) + 1 // and the other settings alone
	}
	most := finalists
	if s.opts.Only != nil {
		most = leastFinalists + 1
	}
	return min(max(int(s.left()/max(s.finalist(), 1)), leastFinalists+more), most+more)
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
		a = s.def()
	}
	return s.took[a.Arm] / time.Duration(max(s.trials[a.Arm], 1))
}

// request is what a trial asks for.
func (s *search) request(arm *trial.Arm, round int) trial.Request {
	req, watched := s.opts.Request, round == 0 && s.opts.SampleWarmup
	if watched {
		req.Profile = max(req.Profile, 1)
	}
	return req.Of(arm, round, s.sampled || watched)
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
	p := Progress{Trials: s.counts, Sample: sample, Stage: s.stage, Round: round, Of: s.aim, Settings: s.running,
		Best: s.ahead, Sampled: s.sampled}
	for _, a := range s.res.Arms {
		if a.Arm == arm {
			p.Arm = a
		}
	}
	if s.stage == InFinal {
		p.Round -= s.res.RaceRounds
	}
	if s.obj != nil && !s.opts.Exhaustive {
		p.Left = max(s.left(), 0)
	}
	s.opts.Progress(p)
}
