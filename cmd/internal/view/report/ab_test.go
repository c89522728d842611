package report

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/ab"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
)

// A machineOf runs a program of which the n-th run is what make says.
type machineOf struct {
	n    int
	make func(n int) *trial.Sample
}

func (m *machineOf) Run(context.Context, trial.Setting, trial.Request) (*trial.Sample, error) {
	m.n++
	return m.make(m.n), nil
}

// abFile is a result of three programs: one needs less of everything, one is the base
// once more.
func abFile(t *testing.T, bounds ...string) *result.AB {
	t.Helper()
	program := func(factor float64) *trial.Arm {
		return &trial.Arm{Runner: &machineOf{make: func(n int) *trial.Sample {
			drift := 1 + 0.1*float64(n%3) // of all programs alike
			wall, peak := factor*drift*(1+0.001*float64(n%4)), uint64(factor*(64<<20))
			gc := 0.3 * factor * factor
			s := &trial.Sample{Wall: wall, User: 0.9 * wall, Sys: 0.1 * wall, CPU: wall, PeakRSS: &peak, MinorFaults: int64(10000 * factor)}
			s.Profile = &profile.Result{
				Samples: 500, Kernel: true, GCFraction: &gc, MemoryTaxFraction: &gc,
				Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: gc, Fraction: gc},
					{Class: profile.Program, Seconds: 0.7, Fraction: 1 - gc}},
				Sites: []profile.Site{{Func: "main.load", File: "main.go", Line: 12, Seconds: gc, Fraction: gc,
					Classes: map[profile.Class]float64{profile.GCMark: 1}}},
			}
			return s
		}}}
	}
	arms := []*trial.Arm{program(1), program(0.75), program(1)}
	opts := ab.Options{Detect: 0.02, Budget: time.Hour, Seed: 1, MaxRounds: 40}
	for _, text := range bounds {
		b, err := ab.ParseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Bounds = append(opts.Bounds, b)
	}
	res, err := ab.Compare(t.Context(), arms, opts)
	if err != nil {
		t.Fatal(err)
	}
	f := &result.AB{
		Header: result.Header{Schema: result.Schema, Kind: result.KindAB, Folio: "v0"}, Complete: true,
		Host: testHost(), Seed: 1, ElapsedSeconds: 12.5,
		Setting: result.NewSetting(trial.Setting{}), Result: res, Notes: []string{"a note"},
	}
	for i, name := range []string{"main", "HEAD", "."} {
		f.Arms = append(f.Arms, result.ABArm{
			Name: name, Program: result.Program{Command: []string{"prog", "-n", "a b"}, GoVersion: new("go1.26.8")},
			Source:  &result.Source{Revision: name, Commit: strings.Repeat("0a1b2c3d4e", 4), Dirty: i == 2, Package: "./cmd/prog"},
			Samples: arms[i].Samples, Summary: result.Summarize(arms[i].Samples),
		})
	}
	return f
}

func TestABGolden(t *testing.T) {
	f := abFile(t, "peak_rss>+10%", "wall<-10%", "peak_rss<-40MiB")
	var b bytes.Buffer
	if err := AB(&b, f); err != nil {
		t.Fatal(err)
	}
	golden(t, "ab.txt", b.Bytes())
	bench, err := gobench.Text(gobench.AB(f))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(bench, []byte("\nBenchmarkProg 1 ")); n != 3*f.Result.Rounds {
		t.Errorf("%d results of %d rounds of 3", n, f.Result.Rounds)
	}
	for _, want := range []string{"\narm: main\n", "\narm: HEAD\n", "\narm: .\n", "\ncommit: 0a1b2c3d4e"} {
		if !bytes.Contains(bench, []byte(want)) {
			t.Errorf("no %q in the benchmark format", want)
		}
	}
}

// A file that is read back shows what the result showed.
func TestABReadBack(t *testing.T) {
	f := abFile(t, "wall>+3%")
	data, err := f.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back := &result.AB{}
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	if err := back.Check(); err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	if err := AB(&before, f); err != nil {
		t.Fatal(err)
	}
	if err := AB(&after, back); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Errorf("shown:\n%s\nread back:\n%s", &before, &after)
	}
	back.Result.Gates[0].Arm = 9
	if back.Check() == nil {
		t.Error("a gate of no arm is taken")
	}
	back.Arms[0].Samples[0] = nil
	back.Result = nil
	if back.Check() == nil {
		t.Error("a sample that is null is taken")
	}
}

func figureOf(key string, unit result.ABUnit, base, difference, lo, hi float64) *result.ABFigure {
	return &result.ABFigure{Key: key, Unit: unit, N: 10, Base: base, Value: base + difference,
		Difference: difference, DifferenceLo: &lo, DifferenceHi: &hi}
}

// The difference of two shares is in points, everywhere.
func TestABPoints(t *testing.T) {
	f := figureOf("gc_cpu_fraction", result.UnitFraction, 0.449, -0.3502, -0.401, 0.0119)
	diff, interval := ABDifference(f)
	if diff != "-35.0 points" || interval != "-40.1 to +1.2 points" {
		t.Errorf("%q, %q", diff, interval)
	}
	f.Detectable = new(0.5)
	if got, want := ABSentence(f), "GC share: no difference found (-40.1 to +1.2 points); differences below 22.5 points would be missed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Different = true
	if got, want := ABSentence(f), "GC share: -35.0 points (-40.1 to +1.2 points), better"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f = figureOf("gc_cpu_fraction", result.UnitFraction, 0.4, 0, 0, 0)
	if diff, interval = ABDifference(f); diff != "0.0 points" || interval != "0.0 to 0.0 points" {
		t.Errorf("%q, %q", diff, interval)
	}
}

// What is not known from so few rounds is not a finding; what never differed has no
// noise that would hide a difference.
func TestABSentences(t *testing.T) {
	few := &result.ABFigure{Key: "wall_seconds", Unit: result.UnitSeconds, N: 1, Base: 1, Value: 1.06, Difference: 0.06, Ratio: new(1.06)}
	if got, want := ABSentence(few), "wall: too few rounds to tell (1)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	equal := figureOf("gc_cycles", result.UnitCount, 12, 0, 0, 0)
	equal.Detectable = new(0.0)
	if got, want := ABSentence(equal), "GC cycles: no difference found (12 in both)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What differs by more than 100% to be found is too noisy, in each place that says so.
func TestABTooNoisy(t *testing.T) {
	f := figureOf("wall_seconds", result.UnitSeconds, 1, 1.2, 0.3, 5)
	f.Ratio, f.RatioLo, f.RatioHi, f.Different = new(1.2), new(0.3), new(5.0), false
	for seen, want := range map[float64]string{0.95: "; differences below 95.0% would be missed", 1: "; differences below 100.0% would be missed", 5.4: "; too noisy to find any below 100%"} {
		f.Detectable = new(seen)
		if got := ABSentence(f); !strings.HasSuffix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got, want := Noise(&result.Noise{Rounds: 5, Detectable: 5.439, Needed: 400}), "Noisy: 5 rounds find hardly any difference below 100%; finding 5.0% takes about 400 rounds"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The end says what would have been found, and calls nothing too noisy that was not.
func TestABEnd(t *testing.T) {
	figures := []result.ABFigure{*figureOf("gc_cycles", result.UnitCount, 0, 4, 3, 5)}
	figures[0].Primary = true
	of := func(detectable *float64, ended ab.Ended) *result.AB {
		return &result.AB{ElapsedSeconds: 2, Result: &result.ABResult{Detect: 0.02, Rounds: 9, Ended: ended, Detectable: detectable,
			Comparisons: []result.ABComparison{{Arm: 1, Figures: figures}}}}
	}
	for want, f := range map[string]*result.AB{
		"9 rounds in 2.000s. The runs had no noise: any difference would have been found":                                                            of(new(0.0), result.EndedPrecise),
		"9 rounds in 2.000s; --rounds is reached. A difference of 1.0% would have been found in 8 of 10 such comparisons":                            of(new(0.01), result.EndedMaxRounds),
		"9 rounds in 2.000s; --budget is spent. Too noisy for --detect 2.0%: a difference of 3.0% would have been found in 8 of 10 such comparisons": of(new(0.03), result.EndedBudget),
		"9 rounds in 2.000s; --budget is spent. Too noisy to find any difference below 100%":                                                         of(new(5.439), result.EndedBudget),
		"9 rounds in 2.000s; --rounds is reached. Too noisy to find any difference below 100%":                                                       of(new(1.001), result.EndedMaxRounds),
		"9 rounds in 2.000s; --budget is spent": of(nil, result.EndedBudget), // of a base of 0
	} {
		if got := ABEnd(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	figures[0].DifferenceLo = nil
	if got := ABEnd(of(nil, result.EndedMaxRounds)); !strings.HasSuffix(got, ". Too few rounds to say what could have been seen") {
		t.Error(got)
	}
}

// A gate that cannot be judged says why, and what bound could be.
func TestABGates(t *testing.T) {
	figures := []result.ABFigure{
		*figureOf("gc_cycles", result.UnitCount, 0, 4, 4, 5),
		*figureOf("major_faults", result.UnitCount, 0, 0, 0, 0),
		*figureOf("gc_cpu_fraction", result.UnitFraction, 0.4, -0.2, -0.3, -0.1),
		{Key: "wall_seconds", Unit: result.UnitSeconds, N: 3, Base: 1, Value: 1, Ratio: new(1.0)},
	}
	f := &result.AB{Arms: make([]result.ABArm, 2), Result: &result.ABResult{Comparisons: []result.ABComparison{{Arm: 1, Figures: figures}}}}
	for want, g := range map[string]result.ABGate{
		"--fail-if 'gc_cycles>+5e-1%': cannot be judged: the base is 0, and no percentage of it is a difference; give the bound in units, such as 'gc_cycles>+100'": {
			Bound: "gc_cycles>+5e-1%", Key: "gc_cycles", Verdict: result.VerdictUnknown},
		"--fail-if 'oom_kills>+1': cannot be judged: not measured": {
			Bound: "oom_kills>+1", Key: "oom_kills", Absolute: true, Verdict: result.VerdictUnknown},
		"--fail-if 'major_faults>+1%': passed: the interval is 0 to 0": {
			Bound: "major_faults>+1%", Key: "major_faults", Lo: new(0.0), Hi: new(0.0), Verdict: result.VerdictWithin},
		"--fail-if 'wall>+5%': too few rounds to tell: 3 rounds": {
			Bound: "wall>+5%", Key: "wall_seconds", Verdict: result.VerdictNoisy},
		"--fail-if 'gc_cycles>+1': failed: the interval is +4 to +5": {
			Bound: "gc_cycles>+1", Key: "gc_cycles", Absolute: true, Lo: new(4.0), Hi: new(5.0), Verdict: result.VerdictBeyond},
		"--fail-if 'gc_share>+5%': passed: the interval is -75.0% to -25.0% of the base": {
			Bound: "gc_share>+5%", Key: "gc_cpu_fraction", Lo: new(-0.75), Hi: new(-0.25), Verdict: result.VerdictWithin},
		"--fail-if 'gc_share>-20points': too noisy to tell: the interval is -30.0 to -10.0 points": {
			Bound: "gc_share>-20points", Key: "gc_cpu_fraction", Absolute: true, Lo: new(-0.3), Hi: new(-0.1), Verdict: result.VerdictNoisy},
	} {
		g.Arm = 1
		if got := ABGate(f, &g); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
