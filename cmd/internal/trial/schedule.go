package trial

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
)

// An Arm is one setting of an experiment and the samples that it has so far.
type Arm struct {
	Name    string
	Setting Setting
	Samples []*Sample // counted ones, in the order they were taken
	// Runner, when set, runs the arm's trials in place of the scheduler's: arms that
	// are programs of their own have one each.
	Runner Runner
	// SampledRuns is how many runs are sampled at least, and more until there are
	// [EnoughSamples]. 0: as many as are enough, at most three.
	SampledRuns int
}

// NewArm returns the arm of a setting, named after it.
func NewArm(s Setting) *Arm { return &Arm{Name: s.String(), Setting: s} }

// EnoughSamples is how many it takes to compare two settings by where their
// time goes: of 1000, a class of 10% is measured as one of 8 to 12%.
const EnoughSamples = 1000

// IntervalRuns is how many runs an interval of a median takes, and at least as many as a
// test of two results needs to find a difference.
const IntervalRuns = 6

// WantsProfile says whether the next run of the arm should be sampled. Sampling
// slows a program down, so the first runs are, until there are enough samples,
// and the others tell the time undisturbed.
func (a *Arm) WantsProfile() bool {
	const most = 3
	if a.SampledRuns == 0 && len(a.Samples) >= most {
		return false
	}
	if len(a.Samples) < a.SampledRuns {
		return true
	}
	w := Profile(a.Samples)
	return w == nil || w.Samples < EnoughSamples
}

// WantsSeries says whether the next run of the arm should be kept over time: until one
// that counts is, which is enough to look at.
func (a *Arm) WantsSeries() bool {
	return !slices.ContainsFunc(a.Samples, func(s *Sample) bool { return s.OK() && s.Series != nil })
}

// A Runner runs one trial. An error means that no trial was possible (the
// command is not there, the context ended); a program that ran and failed is a
// Sample with Failure set.
type Runner interface {
	Run(ctx context.Context, s Setting, r Request) (*Sample, error)
}

// A Scheduler runs arms in rounds. Its zero value is not usable: see NewScheduler.
type Scheduler struct {
	runner Runner
	rng    *rand.Rand
	round  int
	seq    int
	all    set // all counted samples

	// Request, when set, says what a trial asks for; else it is nothing.
	Request func(arm *Arm, round int) Request
	// Observe, when set, is told before each trial starts (sample nil) and after
	// it ended.
	Observe func(arm *Arm, round int, sample *Sample)

	// Repeats is how often a trial is repeated in which the load generator was late. Those
	// before the last are dropped: see [Sample.LateBefore].
	Repeats int
}

// NewScheduler returns a scheduler that orders arms by seed: the same seed and
// the same calls give the same order. r may be nil where every arm has its own.
func NewScheduler(r Runner, seed uint64) *Scheduler {
	return &Scheduler{runner: r, rng: rand.New(rand.NewPCG(seed, seed^0x9e3779b97f4a7c15))}
}

// Round runs each arm once in random order and appends the samples to the arms.
// On an error the samples taken so far stay.
func (s *Scheduler) Round(ctx context.Context, arms []*Arm) error {
	s.round++
	for _, i := range s.rng.Perm(len(arms)) {
		sample, err := s.run(ctx, arms[i], s.round)
		if err != nil {
			return err
		}
		arms[i].Samples = append(arms[i].Samples, sample)
	}
	return nil
}

// Warmup runs each arm once in random order without counting it: files come
// into the page cache, the processor leaves its idle clock, and a command that
// cannot run is found. It returns the samples in the order of arms.
func (s *Scheduler) Warmup(ctx context.Context, arms []*Arm) ([]*Sample, error) {
	out := make([]*Sample, len(arms))
	for _, i := range s.rng.Perm(len(arms)) {
		sample, err := s.run(ctx, arms[i], 0)
		if err != nil {
			return out, err
		}
		out[i] = sample
	}
	return out, nil
}

// Rounds returns how many counted rounds were begun.
func (s *Scheduler) Rounds() int { return s.round }

func (s *Scheduler) run(ctx context.Context, arm *Arm, round int) (*Sample, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if s.Observe != nil {
		s.Observe(arm, round, nil)
	}
	runner := s.runner
	if arm.Runner != nil {
		runner = arm.Runner
	}
	var req Request
	if s.Request != nil {
		req = s.Request(arm, round)
	}
	sample, err := s.onTime(ctx, runner, arm.Setting, req)
	if err != nil {
		return nil, err
	}
	s.seq++
	sample.Round, sample.Sequence = round, s.seq
	if round > 0 {
		s.all.add(sample)
	}
	if s.Observe != nil {
		s.Observe(arm, round, sample)
	}
	return sample, nil
}

// onTime runs a trial, again where the load generator was late.
func (s *Scheduler) onTime(ctx context.Context, runner Runner, set Setting, req Request) (*Sample, error) {
	var late []float64
	for {
		sample, err := runner.Run(ctx, set, req)
		if err != nil {
			return nil, err
		}
		sample.LateBefore = late
		if !sample.Late() || len(late) >= s.Repeats {
			if sample.Late() && s.Repeats > 0 {
				sample.Failure = fmt.Sprintf("%s (%d runs one after the other)", sample.Failure, len(late)+1)
			}
			return sample, nil
		}
		late = append(late, *sample.Load.Lateness.P99)
	}
}
