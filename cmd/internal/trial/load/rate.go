package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
)

// A RateVerdict says how a rate went.
type RateVerdict string

const (
	RateUnloaded RateVerdict = "unloaded" // the low rate that the others are compared with
	RateHeld     RateVerdict = "held"
	RateSlow     RateVerdict = "slow"   // the 99th percentile was above the bound
	RateFailed   RateVerdict = "failed" // fewer than 99% succeeded, or the server did not survive
	RateLate     RateVerdict = "late"   // above the bound, but so was the generator: nothing is known of the server
)

// A RateStep is a rate that was tried, with a short load.
type RateStep struct {
	Rate      float64     `json:"rate_per_second"`
	Seconds   float64     `json:"duration_seconds"`
	Verdict   RateVerdict `json:"verdict" redact:"keep"`
	Succeeded *float64    `json:"succeeded_fraction"` // null where the load did not end
	P99       *float64    `json:"p99_seconds"`        // null where it falls among failed requests
	Lateness  *float64    `json:"lateness_seconds"`   // of the generator, the 99th percentile
}

// String is the step in words.
func (s RateStep) String() string {
	text := fmt.Sprintf("%s requests/s: %s", unit.Number(int64(s.Rate)), s.Verdict)
	if s.P99 != nil {
		text += ", p99 " + unit.Seconds(*s.P99)
	}
	if s.Verdict == RateLate && s.Lateness != nil {
		text += ", starts late by " + unit.Seconds(*s.Lateness)
	}
	return text
}

// A RateBound says what bounds the rate that was found.
type RateBound string

const (
	ByServer    RateBound = "server"
	ByGenerator RateBound = "generator" // it was late before the server was at its end
	ByTime      RateBound = "time"      // that the search may take
	ByMaximum   RateBound = "maximum"   // MaxRate
)

// A RateSearch is a rate that was searched.
type RateSearch struct {
	Steps   []RateStep
	Highest float64   // rate that was held
	Rate    float64   // 70% of that, in two digits
	Bound   float64   // of the 99th percentile, in seconds
	By      RateBound // what keeps it from being higher
}

// Of the search.
const (
	// RateTime is how long a search of a rate takes at most, but for its last step.
	RateTime = 2 * time.Minute
	// RateWarmup is the warm-up of each step.
	RateWarmup = 500 * time.Millisecond

	stepTime     = 2 * time.Second
	unloadedRate = 20
	firstRate    = 50
	heldShare    = 0.99
	chosenShare  = 0.7
	closeEnough  = 1.1 // between what was held and what was not
)

// RateOptions say how to search a rate.
type RateOptions struct {
	// Measure puts a load on the server, after a warm-up. The result is nil where the server
	// did not survive it; failure says why. An error ends the search.
	Measure func(ctx context.Context, rate float64, d time.Duration) (r *Result, failure string, err error)
	// Progress is told of each step that ended.
	Progress func(RateStep)
	Now      func() time.Time // default time.Now
}

type rateSearch struct {
	RateOptions
	out   *RateSearch
	start time.Time
	took  time.Duration // the longest step so far
}

// FindRate searches the highest rate at which the 99th percentile of the latency is below
// twice that of a server that is nearly idle, or a millisecond, below which the generator
// cannot tell, and 99% succeed: by doubling, then by bisection. What it recommends is 70% of
// that. Rates that are not held are tried twice: a machine may be busy for a moment.
func FindRate(ctx context.Context, o RateOptions) (*RateSearch, error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &rateSearch{RateOptions: o, out: &RateSearch{}, start: o.Now()}
	low, err := s.unloaded(ctx)
	if err != nil {
		return s.out, err
	}
	hi, by, err := 0.0, ByMaximum, error(nil)
	for rate := max(2*low, firstRate); rate <= MaxRate; rate *= 2 {
		held, why, err := s.try(ctx, rate)
		if err != nil {
			return s.out, err
		}
		if !held {
			hi, by = rate, why
			break
		}
		low = rate
	}
	for hi > closeEnough*low && by != ByTime {
		mid := digits(math.Sqrt(low*hi), 3)
		if mid <= low || mid >= hi {
			break
		}
		held, why, err := s.try(ctx, mid)
		switch {
		case err != nil:
			return s.out, err
		case held:
			low = mid
		case why == ByTime:
			by = why
		default:
			hi, by = mid, why
		}
	}
	s.out.Highest, s.out.Rate, s.out.By = low, digits(chosenShare*low, 2), by
	return s.out, err
}

// unloaded measures a server that is nearly idle: one request in five finds another under
// way at most.
func (s *rateSearch) unloaded(ctx context.Context) (rate float64, err error) {
	const most, tries = 20 * time.Second, 3
	rate, d := unloadedRate, stepTime
	for n := 0; ; {
		r, failure, err := s.step(ctx, rate, d, func(r *Result) RateVerdict {
			if r.Late {
				return RateLate
			}
			return RateUnloaded
		})
		switch {
		case err != nil:
			return 0, err
		case r == nil:
			return 0, fmt.Errorf("--rate auto: at %v requests/s: %s", rate, failure)
		case float64(r.Failures.Wrong()) > (1-heldShare)*float64(r.Intended): // late or not
			return 0, failedText(r, rate)
		case r.Late:
			if n++; n == tries {
				return 0, fmt.Errorf("--rate auto: the load generator was late even at %v requests/s: give generator and server CPUs of their own, or give --rate a number", rate)
			}
			continue
		case r.Latency.P50 != nil && rate > 1 && rate**r.Latency.P50 > 0.2:
			rate = max(digits(0.2 / *r.Latency.P50, 2), 1)
			d = min(max(stepTime, time.Duration(20/rate*float64(time.Second))), most)
			continue
		case r.Latency.P99 == nil || float64(r.Succeeded) < heldShare*float64(r.Intended):
			return 0, failedText(r, rate)
		}
		s.out.Bound = max(2**r.Latency.P99, LateStart.Seconds())
		return rate, nil
	}
}

func failedText(r *Result, rate float64) error {
	return fmt.Errorf("--rate auto: at %v requests/s: %s", rate, r.FailedText(&r.Settings, r.Errors))
}

// try says whether a rate is held, and if not, what bounds it.
func (s *rateSearch) try(ctx context.Context, rate float64) (held bool, by RateBound, err error) {
	for range 2 {
		if s.Now().Sub(s.start)+s.took > RateTime {
			return false, ByTime, nil
		}
		if _, _, err := s.step(ctx, rate, stepTime, s.judge); err != nil {
			return false, "", err
		}
		switch s.out.Steps[len(s.out.Steps)-1].Verdict {
		case RateHeld:
			return true, "", nil
		case RateLate:
			by = ByGenerator
		default:
			by = ByServer
		}
	}
	return false, by, nil
}

// judge says how a rate went.
func (s *rateSearch) judge(r *Result) RateVerdict {
	answered := float64(r.Succeeded) >= heldShare*float64(r.Intended)
	switch p99 := r.Latency.P99; {
	case answered && p99 != nil && *p99 <= s.out.Bound:
		return RateHeld // also where the generator was late: latencies are from the intended starts
	case r.Late:
		return RateLate
	case !answered:
		return RateFailed
	}
	return RateSlow
}

// step measures a rate and keeps what it showed.
func (s *rateSearch) step(ctx context.Context, rate float64, d time.Duration, judge func(*Result) RateVerdict) (*Result, string, error) {
	begin := s.Now()
	r, failure, err := s.Measure(ctx, rate, d)
	switch {
	case err != nil:
		return nil, "", err
	case ctx.Err() != nil:
		return nil, "", ctx.Err()
	case r != nil && r.Intended == 0:
		return nil, "", errors.New("--rate auto: no request was measured")
	}
	s.took = max(s.took, s.Now().Sub(begin))
	out := RateStep{Rate: rate, Seconds: d.Seconds(), Verdict: RateFailed}
	if r != nil {
		out.Verdict, out.P99, out.Lateness = judge(r), r.Latency.P99, r.Lateness.P99
		out.Succeeded = new(float64(r.Succeeded) / float64(r.Intended))
	}
	s.out.Steps = append(s.out.Steps, out)
	if s.Progress != nil {
		s.Progress(out)
	}
	return r, failure, nil
}

// digits rounds down to so many digits.
func digits(v float64, n int) float64 {
	by := math.Floor(math.Log10(v)) - float64(n-1)
	if by < 0 {
		return math.Floor(v*math.Pow(10, -by)*(1+1e-12)) / math.Pow(10, -by)
	}
	return math.Floor(v/math.Pow(10, by)*(1+1e-12)) * math.Pow(10, by)
}

// Text says what was found, in a sentence.
func (s *RateSearch) Text() string {
	text := fmt.Sprintf("--rate auto: %v requests/s, 70%% of %v, the highest rate that was held: p99 below %s (twice that of a server that is nearly idle, at least 1ms) and 99%% answered",
		s.Rate, s.Highest, unit.Seconds(s.Bound))
	switch s.By {
	case ByGenerator:
		text += "; it is bounded by the load generator, which was late beyond it: the server may take more"
	case ByTime:
		text += fmt.Sprintf("; the search ended after %s: the server may take more", unit.Span(RateTime))
	case ByMaximum:
		text += "; higher rates cannot be generated"
	}
	return text
}
