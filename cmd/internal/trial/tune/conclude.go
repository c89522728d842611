package tune

import (
	"cmp"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// alpha is how often a search may be wrong about a difference.
const alpha = stat.Alpha

// A Final is what the final showed of an arm. Figures are of the final's samples
// alone, ratios of the rounds that both ran in.
type Final struct {
	Rank int `json:"rank"` // 1 is the best by Adjusted
	N    int `json:"n"`    // runs that count
	// Adjusted is the metric adjusted for drift: the default's median times Ratio.
	// Arms are ranked by it.
	Adjusted float64 `json:"adjusted"`
	// Wall and CPU are seconds, adjusted likewise.
	Wall float64 `json:"adjusted_wall_seconds"`
	CPU  float64 `json:"adjusted_cpu_seconds"`
	// Ratio is the metric against the default's; nil for the default.
	Ratio *Estimate `json:"ratio"`
	// Memory is the median peak, MemoryRatio that against the default's: nil where it looks
	// like less, and was still growing when the load ended.
	Memory      *float64  `json:"memory_bytes"`
	MemoryRatio *Estimate `json:"memory_ratio"`
	// Tied says that it is what is recommended first, or cannot be told apart from that
	// and looks at most 2% different.
	Tied bool `json:"tied"`
	// Undecided says that it looks better or worse than that by more, but with too few
	// runs to know.
	Undecided bool `json:"undecided"`
	// Front says that no other arm of the final has both a better Adjusted and less
	// memory.
	Front bool `json:"front"`

	runs  int  // when this was concluded
	rests *Arm // what it is known not to beat: needs no more rounds while that is recommended
}

// An Estimate is a ratio with its interval.
type Estimate struct {
	N     int     `json:"n"` // rounds
	Ratio float64 `json:"ratio"`
	// Lo and Hi hold for all arms and looks together at 95%; nil with too few rounds.
	Lo *float64 `json:"lo"`
	Hi *float64 `json:"hi"`
	P  float64  `json:"p"` // of the signed-rank test, of this arm alone
	// Different says that the interval leaves 1 out.
	Different bool `json:"different"`
}

func newEstimate(p stat.Paired, level float64) *Estimate {
	if p.N == 0 {
		return nil
	}
	e := &Estimate{N: p.N, Ratio: p.Ratio, P: p.P, Different: p.Differs(level)}
	if lo, hi, ok := p.Interval(level); ok {
		e.Lo, e.Hi = &lo, &hi
	}
	return e
}

// inverse returns the estimate of the inverse ratio.
func (e *Estimate) inverse() *Estimate {
	if e == nil {
		return nil
	}
	out := &Estimate{N: e.N, Ratio: 1 / e.Ratio, P: e.P, Different: e.Different}
	if e.Lo != nil {
		lo, hi := 1 / *e.Hi, 1 / *e.Lo
		out.Lo, out.Hi = &lo, &hi
	}
	return out
}

// FinalSamples returns the samples of an arm that the final took.
func (r *Result) FinalSamples(a *Arm) []*trial.Sample {
	var out []*trial.Sample
	for _, s := range a.Samples {
		if s.Round > r.RaceRounds {
			out = append(out, s)
		}
	}
	return out
}

// A verdict is a look at the final. Ratios in it are of costs: less is better.
type verdict struct {
	r       *Result
	level   float64 // error of this look
	arms    []*Arm  // best first
	ratio   map[*Arm]stat.Paired
	won     map[*Arm]bool   // known to be better than the default, by enough to matter
	before  map[*Arm]*Final // what earlier looks said of arms that ran no more since
	samples map[*Arm][]*trial.Sample
	pairs   map[[2]*Arm]stat.Paired // compared already
}

// leastGain is the difference, as a log ratio, below which none matters.
const leastGain = 0.01

// conclude draws the conclusions from the final so far. level is the error that
// this look may make.
func (r *Result) conclude(level float64) {
	v := &verdict{r: r, level: level, ratio: make(map[*Arm]stat.Paired), won: make(map[*Arm]bool),
		before: make(map[*Arm]*Final), samples: make(map[*Arm][]*trial.Sample), pairs: make(map[[2]*Arm]stat.Paired)}
	def := r.Arms[0]
	if def.Status != Finalist {
		return // there is nothing to compare with
	}
	for _, a := range r.Arms {
		if a.Final != nil && a.Final.rests != nil && len(r.FinalSamples(a)) == a.Final.runs {
			v.before[a] = a.Final
		}
		a.Final = nil
		if a.Status != Finalist {
			continue
		}
		samples := r.FinalSamples(a)
		p := reading(r.obj.cost).compare(r.FinalSamples(def), samples)
		if p.N == 0 {
			continue
		}
		if a == def { // exactly itself
			p.Ratio = 1
		}
		v.arms, v.ratio[a], v.samples[a] = append(v.arms, a), p, samples
	}
	slices.SortStableFunc(v.arms, func(a, b *Arm) int { return cmp.Compare(v.ratio[a].Ratio, v.ratio[b].Ratio) })
	v.fill()
	r.answer(v)
}

// fill says of each arm what the final showed.
func (v *verdict) fill() {
	r, def := v.r, v.r.Arms[0]
	ratios := v.estimates(reading(r.obj.cost))
	memories := v.estimates(memoryOf)
	base := r.obj.center(v.samples[def])
	for i, a := range v.arms {
		f := &Final{runs: len(v.samples[a]), Rank: i + 1, N: len(reading(r.obj.cost).values(v.samples[a])),
			Adjusted: base, MemoryRatio: memories[a]}
		if m := medianMemory(v.samples[a]); m > 0 {
			f.Memory = &m
		}
		if a != def {
			if f.Ratio = ratios[a]; r.obj.spec.Higher {
				f.Ratio = f.Ratio.inverse()
			}
			if b := v.before[a]; b != nil {
				f.Ratio, f.MemoryRatio, f.rests = b.Ratio, b.MemoryRatio, b.rests
			}
			if f.Memory != nil {
				f.MemoryRatio.ofSizes(*f.Memory, medianMemory(v.samples[def]))
			}
			if m := f.MemoryRatio; m != nil && m.Ratio < 1 && v.growing(a) {
				f.MemoryRatio = nil
			}
			v.won[a] = f.Ratio.Different && math.Log(v.ratio[a].Ratio) <= -leastGain
			f.Adjusted *= f.Ratio.Ratio
		}
		f.Wall, f.CPU = v.adjusted(wallOf, a), v.adjusted(cpuOf, a)
		a.Final = f
	}
	v.front()
	for a, about := range r.about {
		if a.Left == nil || !(base > 0) {
			continue
		}
		if r.obj.spec.Higher {
			about = 1 / about
		}
		a.Left.About = base * about
	}
}

func medianMemory(samples []*trial.Sample) float64 {
	return stat.Median(reading(memoryOf).values(samples))
}

// ofSizes makes an estimate of memory, which is not adjusted for drift, agree with the sizes that
// are shown beside it, and widens its interval where that leaves them out.
func (e *Estimate) ofSizes(size, base float64) {
	if e == nil || !(base > 0) || math.IsInf(size/base, 0) {
		return
	}
	if e.Ratio = size / base; e.Lo != nil && e.Hi != nil {
		e.Lo, e.Hi = new(min(*e.Lo, e.Ratio)), new(max(*e.Hi, e.Ratio))
	}
}

// adjusted returns a figure of an arm: the default's median times the ratio within
// rounds, 0 where there is none.
func (v *verdict) adjusted(read reading, a *Arm) float64 {
	def := v.r.Arms[0]
	out := stat.Median(read.values(v.samples[def]))
	if a != def {
		out *= read.compare(v.samples[def], v.samples[a]).Ratio
	}
	if math.IsNaN(out) || math.IsInf(out, 0) {
		return 0
	}
	return out
}

// front marks the arms that no other beats in both metric and memory.
func (v *verdict) front() {
	order := slices.Clone(v.arms) // best first
	slices.SortStableFunc(order, func(a, b *Arm) int { return cmp.Compare(v.memory(a), v.memory(b)) })
	best := math.Inf(1)
	for _, a := range order {
		if x := v.ratio[a].Ratio; x < best && a.Final.Memory != nil {
			best, a.Final.Front = x, true
		}
	}
}

// estimates compares a figure of each arm with the default's, at levels that hold
// for all together.
func (v *verdict) estimates(read reading) map[*Arm]*Estimate {
	def := v.r.Arms[0]
	var arms []*Arm
	var pairs []stat.Paired
	var p []float64
	for _, a := range v.arms {
		if a != def && v.before[a] == nil {
			c := read.compare(v.samples[def], v.samples[a])
			arms, pairs, p = append(arms, a), append(pairs, c), append(p, c.P)
		}
	}
	levels := stat.Holm(p, v.level, func(i int, level float64) bool { return pairs[i].Differs(level) })
	out := make(map[*Arm]*Estimate)
	for i, a := range arms {
		out[a] = newEstimate(pairs[i], levels[i])
	}
	return out
}

// against compares the costs of two finalists.
func (v *verdict) against(a, b *Arm) stat.Paired {
	pair := [2]*Arm{a, b}
	p, ok := v.pairs[pair]
	if !ok {
		p = reading(v.r.obj.cost).compare(v.samples[b], v.samples[a])
		v.pairs[pair] = p
	}
	return p
}

// each is the level at which any two finalists are told apart: strict enough that
// the best one is among those that cannot be told apart from the best.
func (v *verdict) each() float64 { return v.level / math.Max(float64(len(v.arms)-1), 1) }

// tied says whether two finalists cannot be told apart, or only by so little that
// it does not matter.
func (v *verdict) tied(a, b *Arm) bool {
	if a == b {
		return true
	}
	p := v.against(a, b)
	return !p.Differs(v.each()) || math.Abs(math.Log(p.Ratio)) < leastGain
}

// near says whether the cost of a is at most band from that of b, as it looks.
func (v *verdict) near(a, b *Arm) bool {
	return math.Abs(math.Log(v.ratio[a].Ratio/v.ratio[b].Ratio)) <= math.Log1p(band)
}

// pick chooses among arms, best first. Of those that cannot be told apart from
// the best, and look as good, it takes the one with least memory; these are alike. No arm
// that ranks better can be told apart from it: so the answer and the table agree.
func (v *verdict) pick(arms []*Arm, ok func(*Arm) bool) (best *Arm, alike []*Arm) {
	var tied []*Arm
	for i, a := range arms {
		if !ok(a) || slices.ContainsFunc(arms[:i], func(b *Arm) bool { return !v.tied(a, b) }) {
			continue
		}
		tied = append(tied, a)
	}
	if len(tied) == 0 {
		return nil, nil
	}
	lead := tied[0]
	modest := slices.ContainsFunc(tied, func(a *Arm) bool { return !giant(a) })
	for _, a := range tied {
		most := 1 + band
		if a.Setting.Parts() < lead.Setting.Parts() {
			most += band // what the lead sets beyond it is not known to do anything
		}
		switch {
		case giant(a) && modest:
			continue
		case !giant(lead) && v.ratio[a].Ratio > v.ratio[lead].Ratio*most:
			continue
		case best == nil || v.cheaper(a, best):
			best = a
		}
		alike = append(alike, a)
	}
	return best, alike
}

// cheaper says whether a takes less memory than b, or as much and is simpler to set,
// or as much under a lower bound.
func (v *verdict) cheaper(a, b *Arm) bool {
	ma, mb := v.memory(a), v.memory(b)
	if math.Abs(ma-mb) > band*math.Max(ma, mb) {
		return ma < mb
	}
	if a.Setting.THP != b.Setting.THP {
		return a.Setting.THP == trial.THPSystem // the environment is enough
	}
	if na, nb := a.Setting.Parts(), b.Setting.Parts(); na != nb {
		return na < nb // what does nothing beside the rest is left out
	}
	return a.Setting.MemLimit != 0 && b.Setting.MemLimit != 0 && a.Setting.MemLimit < b.Setting.MemLimit
}

// growing says that the memory of a finalist was still growing when each of its loads ended.
func (v *verdict) growing(a *Arm) bool { return trial.Growing(v.samples[a]) }

// memory is the median peak of a finalist, infinite where it is not known.
func (v *verdict) memory(a *Arm) float64 {
	if a.Final.Memory == nil || v.growing(a) {
		return math.Inf(1)
	}
	return *a.Final.Memory
}

// giant says whether a setting lets a program grow to many times what it took: the
// GC is off, and the limit is far away.
func giant(a *Arm) bool {
	const times = 4
	return a.Setting.GOGC == trial.Off && float64(a.Setting.MemLimit) > times*mostMemory(a)
}
