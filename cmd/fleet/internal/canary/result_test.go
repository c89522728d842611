package canary

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/fleet/internal/workload"
)

// measured is a comparison whose pods differ, under a load that changes, with a setting that costs
// so much of what there was.
func measured(random *rand.Rand, rounds int, effect, noise float64) *Canary {
	c := &Canary{kind: "Deployment", groups: [2][]member{{{name: "a"}, {name: "b"}}, {{name: "c"}, {name: "d"}}}}
	c.Name, c.GOGC = workload.Name{Namespace: "shop", Workload: "api", Container: "main"}, "400"
	cost := map[string]float64{"a": 1, "b": 1.2, "c": 2, "d": 1.7}
	for round := range rounds {
		first := random.IntN(2)
		for half, with := range [2]int{first, 1 - first} {
			b := Block{Round: round, With: with, Pods: make(map[string]Figures)}
			load := 2 + math.Sin(float64(2*round+half))
			for g, pods := range c.groups {
				for _, m := range pods {
					f := Figures{Work: load * (1 << 30), RSS: 1 << 20, CPU: cost[m.name] * load * math.Exp(noise*random.NormFloat64())}
					if g == with {
						f.CPU, f.RSS = f.CPU*effect, 2*f.RSS
					}
					b.Pods[m.name] = f
				}
			}
			c.blocks = append(c.blocks, b)
		}
	}
	return c
}

func TestConclude(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for _, c := range []struct {
		rounds        int
		effect, noise float64
		want          State
		text          string
	}{
		{8, 0.8, 0.001, Recommended, "Set GOGC=400.\n  CPU seconds per GiB allocated -20.0%"},
		{8, 1.2, 0.001, KeepPresent, "Keep what it has: GOGC=400 saves less than 3.0% of CPU seconds per GiB allocated: +20.0%"},
		{8, 1, 0.001, KeepPresent, "Keep what it has"},
		{8, 0.9, 0.5, Undecided, "More rounds (--rounds) decide."},
		{5, 0.8, 0.001, Undecided, "Not decided: 5 rounds, at least 6 are needed."},
		{0, 1, 0, Undecided, "Not decided: 0 rounds"},
	} {
		r := measured(random, c.rounds, c.effect, c.noise).conclude()
		var out bytes.Buffer
		if err := r.Write(&out); err != nil || r.State != c.want || !strings.HasPrefix(out.String(), c.text) && !strings.Contains(out.String(), c.text) {
			t.Errorf("%+v: %s, %v\n%s", c, r.State, err, &out)
		}
		if c.rounds > 0 && (math.Abs(r.Cost.Ratio/c.effect-1) > 0.01+c.noise || math.Abs(r.RSS.Ratio-2) > 1e-9) {
			t.Errorf("%+v: %+v", c, r.Cost)
		}
	}
}

// A setting that does nothing is recommended in at most 5% of all comparisons, and one that costs
// 20% less is found in all.
func TestNothingIsRecommended(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const n = 400
	found := map[float64]int{}
	for range n {
		for _, effect := range []float64{1, 0.8} {
			if measured(random, 8, effect, 0.05).conclude().State == Recommended {
				found[effect]++
			}
		}
	}
	t.Log(fmt.Sprint(found))
	if found[1] > n*5/100 || found[0.8] != n {
		t.Errorf("recommended in %v of %d", found, n)
	}
}
