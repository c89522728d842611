package lab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
)

// fewestRuns is how many runs an arm must have for a sentence to speak of it. To tell
// two arms apart it takes four of each: see [stat.Compare].
const fewestRuns = 3

// Conclusions says in plain words what the figures mean for this machine. A sentence
// claims only what the table shows, of arms with three runs or more; what two arms
// differ in is claimed only where the runs decide it, and named in one line where
// they do not.
func (o *Outcome) Conclusions() []string {
	if n := o.runs(); n < fewestRuns {
		if n == 0 {
			return nil
		}
		return []string{fmt.Sprintf("Inconclusive: %s per arm. Conclusions take %d, differences between two arms 4 (--rounds).",
			unit.Plural(n, "run"), fewestRuns)}
	}
	said := *o
	said.Arms, said.undecided = nil, nil
	for _, a := range o.Arms {
		if a.runs() < fewestRuns {
			a = &ArmResult{Arm: a.Arm, Failure: a.Failure}
		}
		said.Arms = append(said.Arms, a)
	}
	out := said.Experiment.meaning(&said)
	if len(said.undecided) > 0 {
		out = append(out, fmt.Sprintf("Undecided by %d runs per arm: %s.", said.runs(), strings.Join(said.undecided, "; ")))
	}
	return out
}

// runs is the most runs that an arm has which count.
func (o *Outcome) runs() (most int) {
	for _, a := range o.Arms {
		most = max(most, a.runs())
	}
	return most
}

func (a *ArmResult) runs() (n int) {
	for _, s := range a.Samples {
		if s.OK() {
			n++
		}
	}
	return n
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

// ratio returns how many times as fast an arm is as base, by a figure at the
// largest size; 0 if that is not known.
func (o *Outcome) ratio(base, a *ArmResult, key string) float64 {
	b, v := o.at(base, o.Params.Size, key), o.at(a, o.Params.Size, key)
	if b == 0 || v == 0 {
		return 0
	}
	return b / v
}

// times says how many times as fast an arm is as base, as [Outcome.ratio]. It is ""
// where that is not known, and where the runs do not decide it: then the difference
// is named at the end.
func (o *Outcome) times(base, a *ArmResult, key string) string {
	r := o.ratio(base, a, key)
	if r == 0 || !o.decided(base, a, key, r) {
		return ""
	}
	return unit.Ratio(r)
}

// largest is the largest size at which two arms differ in a figure, and how many times as good a
// is as base there; 0 for none.
func (o *Outcome) largest(base, a *ArmResult, key string) (size uint64, ratio float64) {
	for _, n := range slices.Backward(o.Sizes()) {
		if b, v := o.at(base, n, key), o.at(a, n, key); b > 0 && v > 0 && stat.Compare(base.Values(n, key), a.Values(n, key)).Different {
			return n, b / v
		}
	}
	return 0, 0
}

// decided says whether two arms differ in a figure at the largest size. r is how many
// times as good a is as base, for what is said if they do not.
func (o *Outcome) decided(base, a *ArmResult, key string, r float64) bool {
	if stat.Compare(base.Values(o.Params.Size, key), a.Values(o.Params.Size, key)).Different {
		return true
	}
	text := fmt.Sprintf("%s against %s", a.Arm.Name, base.Arm.Name)
	if figures := o.Experiment.Figures; key != figures[0].Key {
		if i := slices.IndexFunc(figures, func(f Figure) bool { return f.Key == key }); i >= 0 {
			text += ", " + figures[i].Label
		}
	}
	if text += " (" + unit.Ratio(r) + ")"; !slices.Contains(o.undecided, text) {
		o.undecided = append(o.undecided, text)
	}
	return false
}
