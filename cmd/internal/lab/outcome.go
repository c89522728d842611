package lab

import (
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// A Result is what a lab found.
type Result struct {
	Outcomes    []*Outcome // in the order in which they ran
	Seed        uint64
	Elapsed     time.Duration
	Interrupted bool
}

// An Outcome is what an experiment found.
type Outcome struct {
	Experiment *Experiment
	Params     Params
	Arms       []*ArmResult // also those that did not run
	Rounds     int          // counted ones that were completed
	Elapsed    time.Duration
	Complete   bool
	Notes      []string
	Err        error // why there is no answer, or only a part
	Refused    bool  // Err came before anything was tried

	undecided []string // differences that the sentences of Conclusions do not claim
}

// An ArmResult is an arm with what was measured of it.
type ArmResult struct {
	Arm     *Arm
	Samples []*trial.Sample
	// Traced are runs with the GC traced and sampled, which do not count.
	Traced []*trial.Sample
	// Failure is why it was given up; "" if it was not. See also Arm.NotRun.
	Failure string
}

// Ran says that something was measured that counts.
func (a *ArmResult) Ran() bool {
	return a != nil && slices.ContainsFunc(a.Samples, (*trial.Sample).OK)
}

// Values returns a figure at a size, of all samples that count.
func (a *ArmResult) Values(size uint64, key string) []float64 {
	var out []float64
	for _, s := range a.Samples {
		if !s.OK() {
			continue
		}
		for _, p := range Points(s) {
			if v, ok := p.Figures[key]; ok && p.Size == size {
				out = append(out, v)
			}
		}
	}
	return out
}

// Sizes returns the sizes at which something was measured, ascending.
func (a *ArmResult) Sizes() []uint64 {
	var out []uint64
	for _, s := range a.Samples {
		for _, p := range Points(s) {
			if i, found := slices.BinarySearch(out, p.Size); !found {
				out = slices.Insert(out, i, p.Size)
			}
		}
	}
	return out
}

// Arm returns the result of the arm with a name, nil if there is none.
func (o *Outcome) Arm(name string) *ArmResult {
	for _, a := range o.Arms {
		if a.Arm.Name == name {
			return a
		}
	}
	return nil
}

// Sizes returns the sizes at which any arm was measured, ascending.
func (o *Outcome) Sizes() []uint64 {
	var out []uint64
	for _, a := range o.Arms {
		out = append(out, a.Sizes()...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Failed returns the arms that were to run and have nothing that counts, or
// that the machine cannot run.
func (o *Outcome) Failed() []*ArmResult {
	var out []*ArmResult
	for _, a := range o.Arms {
		if a.Failure != "" || a.Arm.Missing {
			out = append(out, a)
		}
	}
	return out
}
