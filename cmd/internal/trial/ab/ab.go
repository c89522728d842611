package ab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/unit"
)

const (
	// LeastRounds is how many rounds there are, if the budget allows.
	LeastRounds = 10
	// MostRounds bounds a comparison that never becomes precise.
	MostRounds = 1000
	// mostFailures is how many failed runs of an arm end the comparison.
	mostFailures = 3
)

// Options say how to compare.
type Options struct {
	Detect    float64       // the difference to see: 0.02
	Budget    time.Duration // for all runs together
	MaxRounds int           // 0: MostRounds
	Request   trial.Request // what its runs ask for, those that are to; its timeout 0: what is left of the budget
	Seed      uint64
	Metric    *metric.Spec // nil: Go benchmarks where there are any, else wall time
	Bounds    []Bound

	// Progress is told of each run before it starts.
	Progress func(Progress)
	// Partial is called after each round, with what makes the result so far: that takes
	// its time after hundreds of rounds.
	Partial func(func() *Result)

	now func() time.Time
}

// A Progress is where a comparison is.
type Progress struct {
	Arm     *trial.Arm
	Round   int // 0: the warm-up
	Sampled bool
	Left    time.Duration
	// Detectable is what would be seen by now, as a fraction; 0 when it is not known.
	Detectable float64
}

// String is a line for who waits.
func (p Progress) String() string {
	if p.Round == 0 {
		return "warm-up: " + p.Arm.Name
	}
	text := fmt.Sprintf("round %d, at most %s left", p.Round, p.Left.Round(time.Second))
	if p.Detectable > 0 && p.Detectable <= 1 {
		text += fmt.Sprintf(", sees %.1f%%", 100*p.Detectable)
	}
	return text + ": " + p.Arm.Name
}

// Ended says why a comparison ended.
type Ended string

const (
	Precise   Ended = "precise"   // a difference of Detect would have been seen
	Budget    Ended = "budget"    // it is spent
	MaxRounds Ended = "rounds"    // as many as were asked for
	Stopped   Ended = "interrupt" // by a signal, or a failure
)

// A run is a comparison in progress.
type run struct {
	opts  Options
	arms  []*trial.Arm // the first is the base
	sched *trial.Scheduler
	start time.Time
	plan  *plan

	cut  bool // the budget ended a run
	done int  // rounds that are complete
	next int  // the round after which precision is looked at again
	seen float64
}

// Compare runs the arms, the first of which is the base, and compares the others with
// it. The result is nil where nothing was compared, and the error then says why; else
// it holds what was, also when the error is not nil.
func Compare(ctx context.Context, arms []*trial.Arm, opts Options) (*Result, error) {
	if opts.now == nil {
		opts.now = time.Now
	}
	if opts.MaxRounds == 0 {
		opts.MaxRounds = MostRounds
	}
	r := &run{opts: opts, arms: arms, sched: trial.NewScheduler(nil, opts.Seed), start: opts.now(), next: LeastRounds}
	r.sched.Request, r.sched.Observe, r.sched.Repeats = r.request, r.observe, trial.LateRepeats
	warm, err := r.sched.Warmup(ctx, arms)
	if err != nil {
		return nil, err
	}
	for i, s := range warm {
		switch {
		case r.cut && s.TimedOut:
			return nil, r.endless(arms[i])
		case !s.OK():
			return nil, failure(arms[i], s)
		}
	}
	if r.plan, err = newPlan(warm, opts); err != nil {
		return nil, err
	}
	err = r.rounds(ctx)
	res := r.plan.conclude(arms, r.done)
	if res != nil {
		res.Ended = r.ended(err)
	}
	switch {
	case !errors.Is(err, errEnough):
		return res, err
	case res == nil:
		return nil, &noRoundError{opts.Budget}
	}
	return res, nil
}

// A noRoundError says that the budget was spent before a round was over.
type noRoundError struct{ Budget time.Duration }

func (e *noRoundError) Error() string {
	return fmt.Sprintf("nothing was compared: --budget %s was spent before the first round was over; give a larger --budget", unit.Span(e.Budget))
}

// endless is the error for a budget that ended the first run of an arm.
func (r *run) endless(arm *trial.Arm) error {
	budget := unit.Span(r.opts.Budget)
	if spec := r.opts.Metric; spec != nil && spec.OfLoad() {
		return fmt.Errorf("the first run of %s did not end within --budget %s: it takes the server's start, --load-warmup and --load-duration; give a larger --budget, or a shorter load", arm.Name, budget)
	}
	return fmt.Errorf("the first run of %s did not end within --budget %s: ab needs programs that end by themselves; put a server under load with --ready and --rate, or give a larger --budget", arm.Name, budget)
}

// failure is the error of an arm that does not work.
func failure(arm *trial.Arm, s *trial.Sample) error {
	if s.Late() {
		return fmt.Errorf("%s: %s", arm.Name, s.Failure)
	}
	text := fmt.Sprintf("%s failed: %s", arm.Name, s.Failure)
	if last := s.Reason(); last != "" {
		text += ": " + last
	}
	return errors.New(text + s.IgnoreExit())
}

// errEnough ends the rounds: the budget is spent, or they are as many as asked for.
var errEnough = errors.New("enough")

func (r *run) ended(err error) Ended {
	switch {
	case err == nil:
		return Precise
	case !errors.Is(err, errEnough):
		return Stopped
	case r.sched.Rounds() >= r.opts.MaxRounds:
		return MaxRounds
	}
	return Budget
}

// left is what remains of the budget.
func (r *run) left() time.Duration { return r.opts.Budget - r.opts.now().Sub(r.start) }

// request is what a run asks for.
func (r *run) request(arm *trial.Arm, round int) trial.Request {
	req := r.opts.Request.Of(arm, round, sampled(round))
	most := max(r.left(), time.Millisecond)
	if r.cut = req.Timeout == 0 || most < req.Timeout; r.cut {
		req.Timeout = most
	}
	return req
}

func (r *run) observe(arm *trial.Arm, round int, sample *trial.Sample) {
	if sample == nil && r.opts.Progress != nil {
		r.opts.Progress(Progress{Arm: arm, Round: round, Sampled: sampled(round), Left: r.left(), Detectable: r.seen})
	}
}

// sampled says whether the CPU is sampled in a round: of all arms, since sampling
// slows a program. Ten rounds are what classes of time need to be told apart.
func sampled(round int) bool {
	switch {
	case round < LeastRounds:
		return round%2 == 1
	case round <= LeastRounds+8:
		return round%2 == 0
	}
	return false
}

// rounds runs rounds until the comparison is precise (nil) or something else ends it.
func (r *run) rounds(ctx context.Context) error {
	for {
		n := r.sched.Rounds()
		spent := r.opts.now().Sub(r.start)
		each := spent / time.Duration(n+1) // the warm-up is one
		if n >= r.opts.MaxRounds || spent+each > r.opts.Budget && n > 0 || spent >= r.opts.Budget {
			return errEnough
		}
		if err := r.sched.Round(ctx, r.arms); err != nil {
			return err
		}
		r.done = n + 1
		if err := r.check(); err != nil {
			return err
		}
		if r.opts.Partial != nil {
			r.opts.Partial(func() *Result {
				res := r.plan.conclude(r.arms, n+1)
				if res != nil {
					res.Ended = Stopped
				}
				return res
			})
		}
		if n+1 < r.next && earlyLook(n+1) == 0 {
			continue
		}
		var precise bool
		if precise, r.seen = r.plan.precise(r.arms, n+1); precise {
			return nil
		}
		r.next = max(n+2, int(math.Ceil(1.03*float64(n+1))))
	}
}

// check ends a comparison in which an arm fails again and again, or the budget ended
// a run.
func (r *run) check() error {
	for _, a := range r.arms {
		failed := 0
		for _, s := range a.Samples {
			if s.OK() {
				continue
			}
			if failed++; s.TimedOut && r.cut && s.Round == r.sched.Rounds() {
				return errEnough
			} else if failed == mostFailures {
				return fmt.Errorf("%d runs failed, the last one: %w", failed, failure(a, s))
			}
		}
	}
	return nil
}
