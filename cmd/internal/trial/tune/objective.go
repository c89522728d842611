package tune

import (
	"fmt"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/unit"
)

// An objective reads an arm's cost from samples.
type objective struct {
	spec *metric.Spec
	keys []string // benchmarks that count, for ns/op
}

// raw returns the metric as the user knows it.
func (o *objective) raw(s *trial.Sample) (float64, bool) {
	if !s.OK() {
		return 0, false
	}
	switch {
	case o.spec.Pattern != nil || o.spec.Name == metric.CPUPerGiB:
		v, ok := s.Metrics[o.spec.Name]
		return v, ok
	case o.spec.OfLoad():
		return s.OfLoad(o.spec.Name)
	case o.spec.Name == metric.CPU:
		return s.CPU, true
	case o.spec.Name == metric.Bench:
		return metric.BenchMean(s.Metrics, o.keys)
	}
	return s.Wall, true
}

// center returns the metric of several samples: that of all requests together where it is
// a percentile of them, else the median.
func (o *objective) center(samples []*trial.Sample) float64 {
	if o.spec.OfLoad() {
		if v, ok := trial.CenterOf(samples, o.spec.Name); ok {
			return v
		}
	}
	return stat.Median(reading(o.raw).values(samples))
}

// tooShort says that a load has too few GC cycles for its tail to show what GC does to it; ""
// where it has enough, or that is not known.
func tooShort(spec *metric.Spec, s *trial.Sample) string {
	const enough = 3
	if !spec.Tail() || s.Load == nil || s.GCCycles == nil || *s.GCCycles >= enough {
		return ""
	}
	seconds, n := s.Load.Settings.Duration, *s.GCCycles
	span := unit.SpanSeconds(seconds)
	if n == 0 {
		return fmt.Sprintf("no GC cycle ran in the first load of the default, of %s: settings of the GC cannot shorten a tail that the GC has no part in; see whether one runs with a longer --load-duration, or a higher --rate", span)
	}
	return fmt.Sprintf("%s ran in the first load of the default, of %s: %s of a run depends on whether one falls into it; --load-duration %.0fs has some three",
		unit.Plural(n, "GC cycle"), span, spec.Name, math.Ceil(enough*seconds/float64(n)))
}

// incomparable is the error of a default whose metric is never more than 0, of so many runs or
// more: every setting is compared by its ratio to the default.
func (s *search) incomparable(least int) error {
	n, most := 0, math.Inf(-1)
	for _, sm := range s.def().Samples {
		if v, ok := s.obj.raw(sm); ok {
			n, most = n+1, math.Max(most, v)
		}
	}
	if n < least || most > 0 {
		return nil
	}
	what := "0"
	if most < 0 {
		what = "less than 0"
	}
	s.res.Ended = fmt.Sprintf("%s is %s in every run of the default", s.obj.spec.Name, what)
	if s.obj.spec.Pattern == nil {
		return fmt.Errorf("%s: settings are compared by ratios to it; give another --metric, or the program more work", s.res.Ended)
	}
	return fmt.Errorf("%s: settings are compared by ratios to it; give a --metric whose pattern finds a number above 0", s.res.Ended)
}

// cost returns the metric such that less is better.
func (o *objective) cost(s *trial.Sample) (float64, bool) {
	v, ok := o.raw(s)
	if !ok || v <= 0 {
		return 0, false
	}
	if o.spec.Higher {
		v = 1 / v
	}
	return v, true
}

// A reading is a figure of a sample.
type reading func(*trial.Sample) (float64, bool)

// memoryOf is the peak memory of a sample that counts.
func memoryOf(s *trial.Sample) (float64, bool) {
	m, ok := s.Memory()
	return m, ok && s.OK()
}

func wallOf(s *trial.Sample) (float64, bool) { return s.Wall, s.OK() && s.Wall > 0 }
func cpuOf(s *trial.Sample) (float64, bool)  { return s.CPU, s.OK() && s.CPU > 0 }

// values returns a figure of all samples that have it.
func (read reading) values(samples []*trial.Sample) []float64 {
	var out []float64
	for _, s := range samples {
		if v, ok := read(s); ok {
			out = append(out, v)
		}
	}
	return out
}

// rounds returns a figure by round.
func (read reading) rounds(samples []*trial.Sample) map[int]float64 {
	out := make(map[int]float64, len(samples))
	for _, s := range samples {
		if v, ok := read(s); ok {
			out[s.Round] = v
		}
	}
	return out
}

// pairs returns a figure of two arms in the rounds that both ran in.
func (read reading) pairs(base, samples []*trial.Sample) (b, v []float64) {
	of := read.rounds(base)
	for _, s := range samples {
		w, ran := of[s.Round]
		if x, ok := read(s); ok && ran {
			b, v = append(b, w), append(v, x)
		}
	}
	return b, v
}

// compare compares a figure of two arms, within rounds.
func (read reading) compare(base, samples []*trial.Sample) stat.Paired {
	return stat.ComparePairs(read.pairs(base, samples))
}

// memory returns the median of an arm's peak memory.
func memory(a *Arm) float64 { return stat.Median(reading(memoryOf).values(a.Samples)) }

// mostMemory returns the largest peak that an arm ever had: a bound must hold
// for every run.
func mostMemory(a *Arm) float64 {
	most := math.NaN()
	for _, m := range reading(memoryOf).values(a.Samples) {
		if !(m <= most) {
			most = m
		}
	}
	return most
}

// A standing is how the arms of a race compare, adjusted for what the machine did.
type standing struct {
	score    map[*Arm]float64   // cost relative to the others'; absent without a sample
	adjusted map[*Arm][]float64 // cost of each trial
	noise    float64            // of one trial, as a part of its value
	at       int                // trials that it is of
}

func (o *objective) standing(arms []*Arm) standing {
	var moments []stat.Moment
	for i, a := range arms {
		for _, s := range a.Samples {
			if c, ok := o.cost(s); ok {
				moments = append(moments, stat.Moment{Arm: i, At: s.Sequence, Cost: c})
			}
		}
	}
	d := stat.NewDrift(len(arms), moments)
	st := standing{score: make(map[*Arm]float64), adjusted: make(map[*Arm][]float64), noise: d.Noise}
	for i, m := range moments {
		a := arms[m.Arm]
		st.score[a] = d.Effect[m.Arm]
		st.adjusted[a] = append(st.adjusted[a], d.Adjusted[i])
	}
	return st
}

// gap returns how much worse a looks than b, as a log ratio, and the standard error
// of that.
func (st standing) gap(a, b *Arm) (gap, doubt float64) {
	n := func(x *Arm) float64 { return math.Max(float64(len(st.adjusted[x])), 1) }
	return math.Log(st.score[a] / st.score[b]), st.noise * math.Sqrt(1/n(a)+1/n(b))
}

// least returns the smallest ratio that a trial of a has to b.
func (st standing) least(a, b *Arm) float64 { return slices.Min(st.adjusted[a]) / st.score[b] }

// slower says whether a is worse than b by more than the band beyond reasonable
// doubt: all trials agree, and the gap stands out from the noise.
func (st standing) slower(a, b *Arm) bool {
	const sigmas = 2
	if len(st.adjusted[a]) < 2 || len(st.adjusted[b]) < 2 {
		return false
	}
	gap, doubt := st.gap(a, b)
	return math.Log(st.least(a, b)) > band && gap > band+sigmas*doubt
}

// faster says whether every trial of a was faster than b.
func (st standing) faster(a, b *Arm) bool {
	return len(st.adjusted[a]) > 0 && slices.Max(st.adjusted[a]) < st.score[b]
}

// leader returns the arm with the least score among those that qualify. Arms
// with few rounds do not lead those with enough: one lucky run must not win.
func (st standing) leader(arms []*Arm, enough int, ok func(*Arm) bool) *Arm {
	most := 0
	for _, a := range arms {
		if ok(a) && st.score[a] > 0 {
			most = max(most, len(a.Samples))
		}
	}
	var best *Arm
	for _, a := range arms {
		if s := st.score[a]; s > 0 && ok(a) && len(a.Samples) >= min(enough, most) && (best == nil || s < st.score[best]) {
			best = a
		}
	}
	return best
}
