package trial

import (
	"math"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// ofCPU is a run of so much CPU time, of which a part is GC; with no samples it was not
// sampled.
func ofCPU(cpu, gc float64, samples uint64) *Sample {
	s := &Sample{Wall: cpu, User: cpu, CPU: cpu}
	if samples > 0 {
		r := &profile.Result{Samples: samples, Classes: []profile.ClassShare{
			{Class: profile.GCMark, Seconds: gc * cpu}, {Class: profile.Program, Seconds: (1 - gc) * cpu}}}
		r.Recompute()
		s.setWhere(r)
	}
	return s
}

// Runs that were sampled may be longer than the others: the seconds that are shown are
// the shares of the CPU time that is shown.
func TestPooledSecondsAreOfTheCPUTimeShown(t *testing.T) {
	var samples []*Sample
	for i := range 7 {
		if i < 3 {
			samples = append(samples, ofCPU(0.6, 0.5, 300))
		} else {
			samples = append(samples, ofCPU(0.08, 0.1, 0))
		}
	}
	center := func(key string) float64 {
		v, ok := FigureOf(key).Center(samples)
		if !ok {
			t.Fatalf("%s is not known", key)
		}
		return v
	}
	if got, want := center("gc_cpu_seconds"), center("gc_cpu_fraction")*center("cpu_seconds"); math.Abs(got-want) > 1e-12 || want != 0.04 {
		t.Errorf("GC CPU time %v, want %v", got, want)
	}
	if got := Profile(samples).CPU(); math.Abs(got-0.08) > 1e-12 {
		t.Errorf("the classes share %v s, want 0.08", got)
	}
	for _, s := range samples[:3] {
		s.Stacks = profile.NewStacks()
		s.Stacks.Add([]profile.Frame{{Function: profile.Function{Name: "main.main"}}}, profile.Program, s.CPU)
	}
	// These stacks count as of one run: all three have 1.8 s.
	if got := Tree(samples); math.Abs(got.Totals[0].Value-1.8*0.08/0.6) > 1e-12 || math.Abs(got.Self.Values[0]-1.8*0.08/0.6) > 1e-12 {
		t.Errorf("the calls are %+v, want the scale of the classes", got)
	}
}

// A comparison of two results needs an interval's worth of sampled runs, however many
// samples the first ones have; with few samples all runs are sampled.
func TestRunsThatAreSampled(t *testing.T) {
	for _, c := range []struct {
		least, runs int
		samples     uint64 // of each run
		want        int
	}{{0, 9, 100, 3}, {0, 9, 600, 2}, {IntervalRuns, 9, 2000, 6}, {IntervalRuns, 9, 150, 7}, {IntervalRuns, 9, 10, 9}, {IntervalRuns, 4, 2000, 4}} {
		a, sampled := &Arm{SampledRuns: c.least}, 0
		for range c.runs {
			n := uint64(0)
			if a.WantsProfile() {
				n, sampled = c.samples, sampled+1
			}
			a.Samples = append(a.Samples, ofCPU(1, 0.5, n))
		}
		if sampled != c.want {
			t.Errorf("%+v: %d runs were sampled", c, sampled)
		}
	}
}
