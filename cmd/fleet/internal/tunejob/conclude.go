package tunejob

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/fleet/internal/rounds"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
)

const (
	// leastPairs is how many rounds of a node count as one that was measured: with fewer,
	// no difference is significant.
	leastPairs = 6
	// leastGain is the difference, as a log ratio, below which none matters; band what
	// settings may differ in that look alike.
	leastGain = 0.01
	band      = 0.02
	// missable is the gain that a trial must rule out before it says to keep the default.
	missable = 0.03
)

// A State is what a trial came to.
type State string

const (
	Recommended  State = "recommended"
	KeepDefault  State = "keep_default"
	Inconclusive State = "inconclusive"
	TooFewNodes  State = "too_few_nodes"
)

// A Result is what a trial found.
type Result struct {
	State State `json:"state"`
	// Best is the index of the setting that is recommended; 0 for none.
	Best     int        `json:"recommended"`
	Metric   string     `json:"metric"`
	Measured int        `json:"measured_nodes"` // nodes with enough rounds
	Settings []*Setting `json:"settings"`       // the default first, then by Ratio
	Nodes    []*Node    `json:"nodes"`
	Notes    []string   `json:"notes,omitempty"`
}

// A Setting is what a trial found of one.
type Setting struct {
	Index   int           `json:"index"`
	Name    string        `json:"name"`
	Setting trial.Setting `json:"setting"`
	// Ratio is the cost against the default's: the median of the nodes' ratios. Less is
	// better, whatever the metric. Lo and Hi are the least and the largest of a node.
	Ratio float64 `json:"ratio"`
	Lo    float64 `json:"least_node_ratio"`
	Hi    float64 `json:"largest_node_ratio"`
	// MemoryRatio is that of peak RSS; Memory the largest peak of a run.
	MemoryRatio float64 `json:"memory_ratio"`
	Memory      float64 `json:"largest_peak_rss_bytes"`
	// P is of the hypothesis that the setting is not better on as many nodes as it has to
	// be.
	P      float64 `json:"p"`
	Better bool    `json:"better"`
	// Nodes are those with enough rounds of it.
	Nodes []NodeRatio `json:"nodes"`
	// Unfit says why it may not be recommended; "" where it may.
	Unfit string `json:"unfit,omitempty"`
}

// A NodeRatio is a setting against the default, on one node.
type NodeRatio struct {
	Node  string   `json:"node"`
	N     int      `json:"n"` // rounds
	Ratio float64  `json:"ratio"`
	Lo    *float64 `json:"lo"`
	Hi    *float64 `json:"hi"`
	P     float64  `json:"p"` // two-sided
	worse bool
}

// needed is on how many of n nodes a setting has to be better: on all, and from five on on
// four of five.
func needed(n int) int { return n - n/5 }

// conjunction is the p-value of the hypothesis that fewer than u of the nodes have an
// effect, from theirs. It holds however they depend on each other.
//
// Source: Y. Benjamini, R. Heller, Screening for partial conjunction hypotheses, Biometrics
// 64, 2008: the combination by Bonferroni.
func conjunction(p []float64, u int) float64 {
	if len(p) == 0 || u > len(p) || u < 1 {
		return 1
	}
	p = slices.Sorted(slices.Values(p))
	return math.Min(1, float64(len(p)-u+1)*p[u-1])
}

// Conclude compares the settings of a plan within node and round. limit is the memory
// limit of the container, 0 for none.
func Conclude(plan *rounds.Plan, nodes []*Node, limit uint64) *Result {
	r := &Result{Metric: plan.Metric, Nodes: nodes}
	for _, n := range nodes {
		if len(n.Rounds) >= leastPairs {
			r.Measured++
		}
	}
	c := &comparison{plan: plan, nodes: nodes}
	for i, s := range plan.Settings {
		r.Settings = append(r.Settings, c.setting(i, s))
	}
	others := r.Settings[1:]
	tests := make([]float64, len(others))
	for i, s := range others {
		tests[i] = s.P
	}
	stat.Holm(tests, stat.Alpha, func(i int, level float64) bool {
		others[i].Better = tests[i] <= level && math.Log(others[i].Ratio) <= -leastGain
		return tests[i] <= level
	})
	for _, s := range others {
		s.judge(limit)
	}
	slices.SortStableFunc(others, func(a, b *Setting) int {
		return cmp.Or(cmp.Compare(b2i(math.IsNaN(a.Ratio)), b2i(math.IsNaN(b.Ratio))), cmp.Compare(a.Ratio, b.Ratio))
	})
	best := c.pick(others)
	switch {
	case r.Measured < LeastNodes:
		r.State = TooFewNodes
	case best != nil:
		r.State, r.Best = Recommended, best.Index
	case !slices.ContainsFunc(others, (*Setting).mayGain):
		r.State = KeepDefault
	default:
		r.State = Inconclusive
	}
	for _, s := range r.Settings {
		s.finite()
	}
	return r
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A comparison is of the settings of a plan.
type comparison struct {
	plan  *rounds.Plan
	nodes []*Node
}

// pairs returns a figure of two settings in the rounds of a node that have both.
func (c *comparison) pairs(n *Node, base, setting int, of func(rounds.Run) float64) (b, v []float64) {
	for _, r := range n.Rounds {
		var x, y float64
		for _, run := range r.Runs {
			if run.Failure != "" {
				continue
			}
			if run.Setting == base {
				x = of(run)
			}
			if run.Setting == setting {
				y = of(run)
			}
		}
		if x > 0 && y > 0 {
			b, v = append(b, x), append(v, y)
		}
	}
	return b, v
}

// cost is the metric such that less is better.
func (c *comparison) cost(r rounds.Run) float64 {
	if c.plan.Higher {
		return 1 / r.Metric
	}
	return r.Metric
}

func memory(r rounds.Run) float64 { return r.Memory }

// level is that of each interval: together, over all settings, 95% on a node.
func (c *comparison) level() float64 { return stat.Alpha / float64(len(c.plan.Settings)-1) }

// setting compares one with the default.
func (c *comparison) setting(index int, s trial.Setting) *Setting {
	out := &Setting{Index: index, Name: s.String(), Setting: s, P: 1, Nodes: []NodeRatio{}}
	var logs, memories, tests []float64
	for _, n := range c.nodes {
		for _, r := range n.Rounds {
			for _, run := range r.Runs {
				if run.Setting == index {
					out.Memory = max(out.Memory, run.Memory)
				}
			}
		}
		if why, left := n.Out[index]; left {
			out.Unfit = fmt.Sprintf("left out on node %s: %s", n.Name, why)
		}
		p := stat.ComparePairs(c.pairs(n, 0, index, c.cost))
		if p.N < leastPairs {
			continue
		}
		at := NodeRatio{Node: n.Name, N: p.N, Ratio: p.Ratio, P: p.P}
		if lo, hi, ok := p.Interval(c.level()); ok {
			at.Lo, at.Hi = &lo, &hi
			at.worse = lo > math.Exp(leastGain)
		}
		out.Nodes = append(out.Nodes, at)
		logs = append(logs, math.Log(p.Ratio))
		if m := stat.ComparePairs(c.pairs(n, 0, index, memory)); m.N > 0 {
			memories = append(memories, math.Log(m.Ratio))
		}
		tests = append(tests, oneSided(p))
	}
	out.Ratio, out.MemoryRatio, out.Lo, out.Hi = math.NaN(), math.NaN(), math.NaN(), math.NaN()
	if len(logs) > 0 {
		out.Ratio, out.Lo, out.Hi = math.Exp(stat.Median(logs)), math.Exp(slices.Min(logs)), math.Exp(slices.Max(logs))
	}
	if len(memories) > 0 {
		out.MemoryRatio = math.Exp(stat.Median(memories))
	}
	if len(logs) >= LeastNodes {
		out.P = conjunction(tests, needed(len(tests)))
	}
	return out
}

// oneSided is the p-value of no gain: the two-sided one where there looks to be a gain.
func oneSided(p stat.Paired) float64 {
	if p.Ratio < 1 {
		return p.P
	}
	return 1
}

// judge says why a setting may not be recommended.
func (s *Setting) judge(limit uint64) {
	for _, n := range s.Nodes {
		if n.worse && s.Unfit == "" {
			s.Unfit = fmt.Sprintf("worse on node %s", n.Node)
		}
	}
	if limit > 0 && s.Memory > limitShare*float64(limit) && s.Unfit == "" {
		s.Unfit = "a run took more than 90% of the memory limit"
	}
}

// mayGain says that a gain is not ruled out on as many nodes as count.
func (s *Setting) mayGain() bool {
	if s.Unfit != "" {
		return false
	}
	ruled := 0
	for _, n := range s.Nodes {
		if n.Lo != nil && *n.Lo > 1-missable {
			ruled++
		}
	}
	return ruled < needed(len(s.Nodes)) || ruled == 0
}

// pick chooses among the settings that are better, best first: of those that look at most
// 2% worse than the best, and are not known to be worse, the one with the least memory.
func (c *comparison) pick(settings []*Setting) (best *Setting) {
	var first *Setting
	for _, s := range settings {
		if !s.Better || s.Unfit != "" {
			continue
		}
		if first == nil {
			first, best = s, s
			continue
		}
		near := s.Ratio <= first.Ratio*(1+band) && !c.beats(first.Index, s.Index)
		if near && s.MemoryRatio < best.MemoryRatio*(1-band) {
			best = s
		}
	}
	return best
}

// beats says whether one setting is known to be better than another.
func (c *comparison) beats(a, b int) bool {
	var tests []float64
	for _, n := range c.nodes {
		if p := stat.ComparePairs(c.pairs(n, b, a, c.cost)); p.N >= leastPairs {
			tests = append(tests, oneSided(p))
		}
	}
	return conjunction(tests, needed(len(tests))) <= c.level()
}

// finite replaces what JSON cannot hold: 0 is not known.
func (s *Setting) finite() {
	for _, v := range []*float64{&s.Ratio, &s.Lo, &s.Hi, &s.MemoryRatio} {
		if math.IsNaN(*v) || math.IsInf(*v, 0) {
			*v = 0
		}
	}
}
