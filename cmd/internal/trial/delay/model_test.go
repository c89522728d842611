package delay

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

// A model is a server whose requests take a millisecond, unless something delays them: what
// was planted, and stalls that have nothing to do with any cause.
type model struct {
	seconds, rate float64
	stalls        float64 // a second
	planted       []Cause
	// phases are busy halves of every ten seconds, in which both stalls and causes come four
	// times as often.
	phases bool
}

// again returns times at which something happens a number of times a second.
func (m *model) again(rng *rand.Rand, often float64) (out []float64) {
	for t := rng.ExpFloat64() / (4 * often); t < m.seconds; t += rng.ExpFloat64() / (4 * often) {
		busy := m.phases && int(t/5)%2 == 0
		if busy || rng.IntN(4) == 0 {
			out = append(out, t)
		}
	}
	return out
}

func (m *model) causes(rng *rand.Rand) map[Cause][]Span {
	out := map[Cause][]Span{Pause: {}, Throttled: {}, MemoryStall: {}, Assists: {}, Cycle: {}, Faults: {}}
	add := func(c Cause, from, length float64) { out[c] = append(out[c], Span{from, from + length}) }
	if m.phases {
		for _, t := range m.again(rng, 1) {
			add(Cycle, t, 0.02+0.02*rng.Float64())
		}
	} else {
		// The GC of a server under a steady load is nearly periodic.
		for t := 0.2 * rng.Float64(); t < m.seconds; t += 0.2 * (0.95 + 0.1*rng.Float64()) {
			length := 0.02 + 0.02*rng.Float64()
			add(Cycle, t, length)
			if rng.IntN(3) == 0 {
				add(Assists, t, length)
			}
			add(Pause, t, 0.0001)
			add(Pause, t+length, 0.0001)
		}
	}
	for _, t := range m.again(rng, 0.5) {
		add(Pause, t, 0.02+0.02*rng.Float64()) // such as a goroutine that cannot be preempted has
	}
	for _, t := range m.again(rng, 1) {
		add(Throttled, t, 0.03+0.03*rng.Float64())
	}
	for _, t := range m.again(rng, 2) {
		add(Faults, float64(int(t*100))/100, 0.01*float64(1+rng.IntN(4)))
	}
	for _, t := range m.again(rng, 0.05) {
		add(MemoryStall, t, 2)
	}
	return out
}

// run simulates one.
func (m *model) run(seed uint64) Run {
	rng := rand.New(rand.NewPCG(seed, 7))
	r := Run{Span: Span{0, m.seconds}, Causes: m.causes(rng)}
	var delays []Span
	for _, c := range m.planted {
		delays = append(delays, r.Causes[c]...)
	}
	for _, t := range m.again(rng, max(m.stalls, 1e-9)) {
		delays = append(delays, Span{t, t + 0.01 + 0.05*rng.Float64()})
	}
	var all []Span
	for i := range int(m.seconds * m.rate) {
		at := float64(i) / m.rate
		took := 0.0003 + 0.001*rng.ExpFloat64()
		for _, d := range delays {
			// What arrives early waits for the whole of it; of a span of seconds, for a moment.
			if at >= d.From && at < d.To {
				took += min(d.To-at, 0.02+0.03*rng.Float64())
			}
		}
		all = append(all, Span{at, at + took})
	}
	r.Some = slices.Clone(all)
	slices.SortFunc(all, func(a, b Span) int { return cmp.Compare(b.To-b.From, a.To-a.From) })
	r.Slow = all[:len(all)/100]
	return r
}

// found counts the causes that are found in simulations, and those that are named.
func found(m *model, n, runs int) (found, named map[Cause]int, any int) {
	found, named = make(map[Cause]int), make(map[Cause]int)
	for i := range n {
		var counts []*Counts
		for j := range runs {
			counts = append(counts, Of(m.run(uint64(i*runs+j))))
		}
		a := Merge(counts)
		for _, s := range a.Causes {
			if s.Found {
				found[s.Cause]++
			}
		}
		if a.State == Found {
			any++
			named[a.Cause]++
		}
	}
	return found, named, any
}

// Where stalls have nothing to do with any cause, none is found: six causes at a level of
// 1% each make 60 of 1,000 runs at most.
func TestNothingIsFoundByChance(t *testing.T) {
	testenv.Alone(t)
	for name, m := range map[string]*model{
		"stalls":           {seconds: 20, rate: 100, stalls: 1},
		"rare stalls":      {seconds: 20, rate: 200, stalls: 0.3},
		"no stalls":        {seconds: 20, rate: 100},
		"phases":           {seconds: 40, rate: 50, stalls: 1, phases: true},
		"a short run":      {seconds: 3, rate: 400, stalls: 3},
		"stalls all along": {seconds: 10, rate: 100, stalls: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && name != "a short run" {
				t.Skip("takes seconds")
			}
			f, _, any := found(m, 1000, 1)
			t.Logf("%d of 1,000: %v", any, f)
			if any > 60 {
				t.Errorf("something is found in %d of 1,000 runs: %v", any, f)
			}
			for c, n := range f {
				// Memory stalls are known to two seconds: they and the stalls do come in the
				// same phases here, and chance is drawn across phases.
				if n > 20 && !(m.phases && c == MemoryStall) {
					t.Errorf("%s is found in %d of 1,000 runs", c, n)
				}
			}
		})
	}
}

// The same holds of several runs together: 60 of 1,000 are 15 of 250.
func TestNothingIsFoundInRuns(t *testing.T) {
	testenv.Long(t)
	f, _, any := found(&model{seconds: 4, rate: 200, stalls: 2}, 250, 6)
	t.Logf("%d of 250: %v", any, f)
	if any > 15 {
		t.Errorf("something is found in %d of 250 times six runs: %v", any, f)
	}
}

// What was planted is found, and named, in a single run. What was not is not.
func TestPlantedIsFound(t *testing.T) {
	testenv.Alone(t)
	for _, c := range []Cause{Pause, Throttled, Assists, Cycle, Faults} {
		t.Run(string(c), func(t *testing.T) {
			t.Parallel()
			m := &model{seconds: 20, rate: 200, stalls: 0.2, planted: []Cause{c}}
			f, named, _ := found(m, 200, 1)
			t.Logf("found %v, named %v", f, named)
			if f[c] < 195 || named[c] < 190 {
				t.Errorf("found in %d, named in %d of 200", f[c], named[c])
			}
			for other, n := range f {
				gc := (other == Cycle || other == Assists || other == Pause) && (c == Cycle || c == Assists)
				if other != c && !gc && n > 10 {
					t.Errorf("%s is found in %d of 200", other, n)
				}
			}
		})
	}
}

// Several runs find together what one is too short for.
func TestRunsFindTogether(t *testing.T) {
	m := &model{seconds: 4, rate: 100, stalls: 0.5, planted: []Cause{Cycle}}
	one, _, _ := found(m, 50, 1)
	eight, _, _ := found(m, 50, 8)
	t.Logf("one %v, eight %v", one, eight)
	if one[Cycle] > 40 || eight[Cycle] != 50 {
		t.Errorf("GC cycles are found in %d of 50 single runs, in %d of 50 times eight", one[Cycle], eight[Cycle])
	}
}
