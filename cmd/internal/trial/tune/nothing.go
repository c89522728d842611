package tune

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// Without is the result of a search that was not made, because no setting can gain anything: why
// is the answer, def what was measured.
func Without(def *Arm, spec *metric.Spec, why string, elapsed time.Duration) *Result {
	return &Result{Arms: []*Arm{def}, Objective: spec, obj: &objective{spec: spec}, Rounds: len(def.Samples), RaceRounds: len(def.Samples),
		Trials: len(def.Samples), Elapsed: elapsed, Ended: "nothing to compare", Inert: why,
		Answer: Answer{State: NoEffect, Inert: why, Recommended: []Recommendation{{Goal: Fastest, Arm: def}}}}
}

// ByLargest says when memory is compared by less than all processes have; "" if it is not.
func (r *Result) ByLargest() string {
	for _, a := range r.Arms {
		for _, s := range a.Samples {
			if r.PID == 0 && s.OK() && !s.MemoryOfTree() {
				return "peak RSS is that of the largest process: what all processes have together can only be sampled, and was not seen for long enough to compare"
			}
		}
	}
	return ""
}

// ErrNoGo is the error of a search without anything to search: a wrapper was given, say.
var ErrNoGo = errors.New("nothing to search: no Go program was seen in the first run")

// NoGo is ErrNoGo where the answer is that no Go program was seen.
func (r *Result) NoGo() error {
	if r.noGo && r.Answer.State == NoEffect {
		return ErrNoGo
	}
	return nil
}

// Nothing is the error of a search without an answer: the program worked once, in the warm-up,
// and then no more, or there was no time.
func (r *Result) Nothing() error {
	worked, out := false, len(r.Arms) > 1
	why := ""
	late, runs := 0, 0
	for i, a := range r.Arms {
		out = out && (i == 0 || a.Status == Failed || a.Status == OverLimit)
		for _, s := range a.Samples {
			late, runs = late+len(s.LateBefore), runs+len(s.LateBefore)+1
			if s.Late() {
				late++
			}
			if worked = worked || s.OK(); !s.OK() {
				why = s.Failure
			}
		}
	}
	switch {
	case worked && 2*late > runs:
		return fmt.Errorf("nothing was compared: the load generator was late in %d of %d runs: give generator and server CPUs of their own, stop what else runs, or lower the rate", late, runs)
	case worked && out:
		return errors.New("nothing was compared: " + r.Ended + "; see the table")
	case worked:
		return errors.New("nothing was compared: " + r.Ended + "; see the table, or give a larger --budget")
	case why != "":
		return fmt.Errorf("the command worked once and then failed in every run: %s", why)
	}
	return errors.New("no run is valid: " + r.Ended)
}
