package tunejob

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/rounds"
	"github.com/foliomem/folio/cmd/internal/result/kubernetes"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/test/testenv"
)

func planOf(t testing.TB, settings ...string) *rounds.Plan {
	t.Helper()
	p := &rounds.Plan{Settings: []trial.Setting{{}}, Rounds: 12, Metric: "wall", Timeout: time.Minute, Budget: time.Hour}
	for _, text := range settings {
		s, err := rounds.ParseSetting(text)
		if err != nil {
			t.Fatal(err)
		}
		p.Settings = append(p.Settings, s)
	}
	return p
}

// A machine makes rounds: each setting has a factor on it, and whatever the machine does to
// a round it does to all.
type machine struct {
	factors []float64 // of settings, the default's first
	memory  []float64
	noise   float64
}

func (m machine) node(rng *rand.Rand, name string, n int) *Node {
	out := &Node{Name: name}
	for i := range n {
		round := 10 * math.Exp(0.3*rng.NormFloat64())
		r := NodeRound{Pod: "pod-" + name, N: i + 1}
		for s, f := range m.factors {
			run := rounds.Run{Setting: s, Metric: round * f * math.Exp(m.noise*rng.NormFloat64()), Memory: 100 << 20}
			if m.memory != nil {
				run.Memory *= m.memory[s]
			}
			r.Runs = append(r.Runs, run)
		}
		out.Rounds = append(out.Rounds, r)
	}
	return out
}

func nodesOf(seed uint64, n int, machines ...machine) (out []*Node) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for i, m := range machines {
		out = append(out, m.node(rng, fmt.Sprintf("node-%d", i+1), n))
	}
	return out
}

func TestConclude(t *testing.T) {
	plan := planOf(t, "GOGC=200", "GOGC=400", "GOGC=800")
	good := machine{factors: []float64{1, 0.9, 0.8, 0.795}, memory: []float64{1, 1.2, 1.5, 3}, noise: 0.01}
	other := machine{factors: []float64{1, 0.9, 1.1, 1.12}, noise: 0.01}
	for name, c := range map[string]struct {
		nodes []*Node
		limit uint64
		state State
		best  string
		says  string
	}{
		"three nodes":                            {nodesOf(1, 12, good, good, good), 0, Recommended, "GOGC=400", "better on 3 of 3"},
		"two nodes":                              {nodesOf(1, 12, good, good), 0, TooFewNodes, "", "at least 3"},
		"three, of which one has too few rounds": {append(nodesOf(1, 12, good, good), nodesOf(2, 5, good)...), 0, TooFewNodes, "", "2 nodes"},
		"what wins on two loses on the third":    {nodesOf(1, 12, good, good, other), 0, Recommended, "GOGC=200", "GOGC=200"},
		"no difference":                          {nodesOf(1, 12, machine{factors: []float64{1, 1, 1, 1}, noise: 0.005}, machine{factors: []float64{1, 1, 1, 1}, noise: 0.005}, machine{factors: []float64{1, 1, 1, 1}, noise: 0.005}), 0, KeepDefault, "", "no setting is better by more than 3%"},
		"too noisy to tell":                      {nodesOf(1, 6, machine{factors: []float64{1, 1, 1, 1}, noise: 0.3}, machine{factors: []float64{1, 1, 1, 1}, noise: 0.3}, machine{factors: []float64{1, 1, 1, 1}, noise: 0.3}), 0, Inconclusive, "", "--rounds"},
		"beyond the limit of the container":      {nodesOf(1, 12, good, good, good), 160 << 20, Recommended, "GOGC=200", "90% of the memory limit"},
	} {
		t.Run(name, func(t *testing.T) {
			r := Conclude(plan, c.nodes, c.limit)
			best := ""
			if r.Best != 0 {
				best = r.find(r.Best).Name
			}
			if r.State != c.state || best != c.best {
				t.Errorf("%s %q", r.State, best)
			}
			var text bytes.Buffer
			if err := r.Write(console.New(&text)); err != nil || !strings.Contains(text.String(), c.says) {
				t.Errorf("%v\n%s", err, text.String())
			}
		})
	}
}

// A setting that is left out on a node, or that fails there, is not recommended.
func TestUnfit(t *testing.T) {
	good := machine{factors: []float64{1, 0.8}, noise: 0.01}
	nodes := nodesOf(1, 12, good, good, good)
	nodes[1].Out = map[int]string{1: "the container was killed"}
	r := Conclude(planOf(t, "GOGC=400"), nodes, 0)
	if r.State != KeepDefault || !strings.Contains(r.Settings[1].Unfit, "node-2: the container was killed") {
		t.Errorf("%s %+v", r.State, r.Settings[1])
	}
	nodes = nodesOf(1, 12, good, good, good)
	for i := range nodes[2].Rounds {
		nodes[2].Rounds[i].Runs[1].Failure = "exit status 1"
	}
	if r := Conclude(planOf(t, "GOGC=400"), nodes, 0); r.State == Recommended {
		t.Errorf("%s: it ran on two nodes only", r.State)
	}
}

// More is better where the metric is such, and a failed run counts for nothing.
func TestHigher(t *testing.T) {
	plan := planOf(t, "GOGC=400")
	plan.Metric, plan.Higher = "op/s=([0-9]+)", true
	faster := machine{factors: []float64{1, 1.25}, noise: 0.01}
	r := Conclude(plan, nodesOf(1, 12, faster, faster, faster), 0)
	if r.State != Recommended || math.Abs(r.Settings[1].Ratio-0.8) > 0.01 {
		t.Errorf("%s %+v", r.State, r.Settings[1])
	}
}

// Of equal settings at most one trial in twenty recommends one, on whatever nodes; a
// difference that is there is found.
func TestNothingIsRecommended(t *testing.T) {
	plan := planOf(t, "GOGC=50", "GOGC=200", "GOGC=400", "GOGC=800")
	trials, wrong, found := testenv.Some(200, 1000), 0, 0
	for i := range trials {
		var same, better []machine
		for j := range 3 + i%3*2 {
			noise := 0.01 * float64(1+j%4)
			same = append(same, machine{factors: []float64{1, 1, 1, 1, 1}, noise: noise})
			better = append(better, machine{factors: []float64{1, 1.1, 0.95, 0.85, 0.83}, noise: noise})
		}
		if Conclude(plan, nodesOf(uint64(i), 12, same...), 0).State == Recommended {
			wrong++
		}
		if Conclude(plan, nodesOf(uint64(i), 12, better...), 0).State == Recommended {
			found++
		}
	}
	t.Logf("%d of %d trials of equal settings recommend one; %d of %d find what is there", wrong, trials, found, trials)
	if wrong > trials/20 || found < trials*9/10 {
		t.Errorf("%d wrong, %d found, of %d", wrong, found, trials)
	}
}

func TestConjunction(t *testing.T) {
	for _, c := range []struct {
		p    []float64
		u    int
		want float64
	}{
		{nil, 1, 1}, {[]float64{0.01, 0.02, 0.03}, 3, 0.03}, {[]float64{0.01, 1, 0.001, 0.002, 0.003}, 4, 0.02},
		{[]float64{0.6, 0.7}, 1, 1}, {[]float64{0.1}, 2, 1},
	} {
		if got := conjunction(c.p, c.u); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%v of %d: %v", c.p, c.u, got)
		}
	}
	for n, want := range map[int]int{3: 3, 4: 4, 5: 4, 9: 8, 10: 8} {
		if got := needed(n); got != want {
			t.Errorf("of %d nodes %d", n, got)
		}
	}
}

func TestPatch(t *testing.T) {
	good := machine{factors: []float64{1, 0.8}, noise: 0.01}
	target, err := kubernetes.ParseTarget("cronjob/nightly:main")
	if err != nil {
		t.Fatal(err)
	}
	r := Conclude(planOf(t, "GOGC=400 GOMEMLIMIT=460MiB thp=heap"), nodesOf(1, 12, good, good, good), 0)
	text, err := r.Patch(target, "job\n.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kind: CronJob", "value: \"400\"", "value: \"460MiB\"", "# thp=heap is not a variable", `job\n.yaml`} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if _, err := Conclude(planOf(t, "GOGC=400"), nil, 0).Patch(target, "x"); err == nil {
		t.Error("a patch of nothing")
	}
}

// Names that come from the cluster cannot break the terminal.
func TestHostileNames(t *testing.T) {
	good := machine{factors: []float64{1, 0.8}, noise: 0.01}
	nodes := nodesOf(1, 12, good, good, good)
	nodes[0].Name, nodes[1].CPU = "a\x1b[2J\nb", "x\ry"
	nodes[2].Lost, nodes[2].Failed = []string{"\x1b]0;x\a"}, []string{"\u202e"}
	var text bytes.Buffer
	p := console.New(&text)
	if err := Conclude(planOf(t, "GOGC=400"), nodes, 0).Write(p); err != nil {
		t.Fatal(err)
	}
	if err := p.Flush(); err != nil || strings.ContainsAny(text.String(), "\x1b\r\a\u202e") || !strings.Contains(text.String(), `\nb: 12 rounds`) {
		t.Errorf("%v %q", err, text.String())
	}
}
