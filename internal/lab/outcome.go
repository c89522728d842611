package lab

import (
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
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
}

// An ArmResult is an arm with what was measured of it.
type ArmResult struct {
	Arm     *Arm
	Samples []*trial.Sample
	// Traced is a run with the collector traced, which does not count; nil if
	// there is none.
	Traced *trial.Sample
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

// Meaning says in plain words what the figures mean for this machine.
func (o *Outcome) Meaning() []string { return o.Experiment.meaning(o) }

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

// at returns the median of an arm's figure at a size, 0 if there is none.
func (o *Outcome) at(a *ArmResult, size uint64, key string) float64 {
	if a == nil {
		return 0
	}
	v := a.Values(size, key)
	if len(v) == 0 {
		return 0
	}
	return stat.Median(v)
}

// times says how many times as fast an arm is as base, as [Outcome.ratio], and
// whether so few runs decide it.
func (o *Outcome) times(base, a *ArmResult, key string) string {
	r := o.ratio(base, a, key)
	if r == 0 {
		return ""
	}
	text := fmt.Sprintf("%.2fx", r)
	if r >= 10 {
		text = fmt.Sprintf("%.0fx", r)
	}
	if !stat.Compare(base.Values(o.Params.Size, key), a.Values(o.Params.Size, key)).Different {
		text += " (undecided)"
	}
	return text
}

// ratio returns how many times as fast an arm is as base, by a figure at the
// largest size; 0 if that is not known.
func (o *Outcome) ratio(base, a *ArmResult, key string) float64 {
	b, v := o.at(base, o.Params.Size, key), o.at(a, o.Params.Size, key)
	if b == 0 || v == 0 {
		return 0
	}
	return b / v
}
