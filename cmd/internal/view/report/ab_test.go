package report

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial/ab"
)

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
	if got, want := ABSentence(f), "no difference in GC share found [-40.1, +1.2 points]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	f.Different = true
	if got, want := ABSentence(f), "GC share -35.0 points [-40.1, +1.2 points], better"; got != want {
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
	if got, want := ABSentence(few), "wall time: too few rounds to tell (1)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	equal := figureOf("gc_cycles", result.UnitCount, 12, 0, 0, 0)
	equal.Detectable = new(0.0)
	if got, want := ABSentence(equal), "no difference in GC cycles found (12 in both)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// What differs by more than 100% to be found is too noisy, in each place that says so.
func TestABTooNoisy(t *testing.T) {
	if got, want := Noise(&result.Noise{Rounds: 5, Detectable: 5.439, Needed: 400}, nil), "Noisy: the runs vary too much to compare this program with another; detecting 5.0% takes about 400 runs"; got != want {
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
		"9 rounds in 2.000s. The runs had no noise: any difference would have been found":                                                        of(new(0.0), result.EndedPrecise),
		"9 rounds in 2.000s; --rounds is reached. A difference of 1.0% would have been found in 8 of 10 such comparisons":                        of(new(0.01), result.EndedMaxRounds),
		"9 rounds in 2.000s; --budget is spent. A difference of 3.0% would have been found in 8 of 10 such comparisons (--detect asks for 2.0%)": of(new(0.03), result.EndedBudget),
		"9 rounds in 2.000s; --budget is spent. Too noisy to find any difference below 100%":                                                     of(new(5.439), result.EndedBudget),
		"9 rounds in 2.000s; --rounds is reached. Too noisy to find any difference below 100%":                                                   of(new(1.001), result.EndedMaxRounds),
		"9 rounds in 2.000s; --budget is spent": of(nil, result.EndedBudget), // of a base of 0
	} {
		if got := ABEnd(f); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	figures[0].DifferenceLo = nil
	few := of(nil, result.EndedBudget)
	few.Result.Rounds = 2
	if got, want := ABEnd(few), "2 rounds in 2.000s; --budget is spent. Intervals take 6 rounds or more (--budget 20s)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := ABEnd(of(nil, result.EndedMaxRounds)); !strings.HasSuffix(got, ". Intervals take 6 rounds or more") {
		t.Error(got)
	}
}

// The answer has what is certain of CPU time and memory, where another figure decides.
func TestABFound(t *testing.T) {
	wall := figureOf("wall_seconds", result.UnitSeconds, 1, 0, -0.1, 0.1)
	wall.Primary = true
	cpu, rss := figureOf("cpu_seconds", result.UnitSeconds, 1, -0.2, -0.3, -0.1), figureOf("peak_rss_bytes", result.UnitBytes, 1<<20, 0, -9, 9)
	cpu.Ratio, cpu.Different = new(0.8), true
	if got := ABFound(&result.ABComparison{Figures: []result.ABFigure{*wall, *cpu, *rss}}); got != "CPU time -20.0%" {
		t.Error(got)
	}
	cpu.Primary = true
	if got := ABFound(&result.ABComparison{Figures: []result.ABFigure{*wall, *cpu, *rss}}); got != "" {
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
		"--fail-if 'major_faults>+1%': passed: the 95% interval is 0 to 0": {
			Bound: "major_faults>+1%", Key: "major_faults", Lo: new(0.0), Hi: new(0.0), Verdict: result.VerdictWithin},
		"--fail-if 'wall>+5%': too few rounds to tell: 3 rounds": {
			Bound: "wall>+5%", Key: "wall_seconds", Verdict: result.VerdictNoisy},
		"--fail-if 'gc_cycles>+1': failed: the 95% interval is +4 to +5": {
			Bound: "gc_cycles>+1", Key: "gc_cycles", Absolute: true, Lo: new(4.0), Hi: new(5.0), Verdict: result.VerdictBeyond},
		"--fail-if 'gc_share>+5%': passed: the 95% interval is -75.0% to -25.0% of the base": {
			Bound: "gc_share>+5%", Key: "gc_cpu_fraction", Lo: new(-0.75), Hi: new(-0.25), Verdict: result.VerdictWithin},
		"--fail-if 'gc_share>-20points': too noisy to tell: the 95% interval is -30.0 to -10.0 points": {
			Bound: "gc_share>-20points", Key: "gc_cpu_fraction", Absolute: true, Lo: new(-0.3), Hi: new(-0.1), Verdict: result.VerdictNoisy},
	} {
		g.Arm = 1
		bound, verdict, why := ABGate(f, &g)
		if got := bound + ": " + verdict + ": " + why; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Where several processes have memory, peak RSS says of which it is.
func TestABLabelIn(t *testing.T) {
	one := &result.ABComparison{Figures: []result.ABFigure{{Key: "peak_rss_bytes"}}}
	both := &result.ABComparison{Figures: []result.ABFigure{{Key: "peak_rss_bytes"}, {Key: "peak_tree_rss_bytes"}}}
	for _, c := range []struct {
		in        *result.ABComparison
		key, want string
	}{
		{one, "peak_rss_bytes", "peak RSS"}, {both, "peak_rss_bytes", "peak RSS, largest process"},
		{both, "peak_tree_rss_bytes", "peak RSS, all processes"}, {both, "cpu_seconds", "CPU time"},
	} {
		if got := ABLabelIn(c.in, c.key); got != c.want {
			t.Errorf("%s: %q, want %q", c.key, got, c.want)
		}
	}
}
