package ab

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// A canned runner returns what make says of its n-th run, from 1.
type canned struct {
	asked []trial.Request
	make  func(n int) *trial.Sample
}

func (c *canned) Run(_ context.Context, _ trial.Setting, req trial.Request) (*trial.Sample, error) {
	c.asked = append(c.asked, req)
	return c.make(len(c.asked)), nil
}

func arms(make ...func(n int) *trial.Sample) []*trial.Arm {
	var out []*trial.Arm
	for i, m := range make {
		out = append(out, &trial.Arm{Name: string(rune('a' + i)), Runner: &canned{make: m}})
	}
	return out
}

func wall(v float64) func(int) *trial.Sample {
	return func(int) *trial.Sample { return &trial.Sample{Wall: v, CPU: v} }
}

var plainOptions = Options{Detect: 0.02, Budget: time.Hour, MaxRounds: 20}

// Exact figures need no more than the least rounds, and are told exactly.
func TestExact(t *testing.T) {
	r, err := Compare(t.Context(), arms(wall(1), wall(1.5), wall(1)), plainOptions)
	if err != nil {
		t.Fatal(err)
	}
	if r.Rounds != LeastRounds || r.Ended != Precise || r.Detectable == nil || *r.Detectable != 0 {
		t.Errorf("%d rounds, ended %s, detectable %v", r.Rounds, r.Ended, r.Detectable)
	}
	for i, want := range []float64{1.5, 1} {
		f := r.Comparisons[i].Find("wall_seconds")
		if math.Abs(*f.Ratio-want) > 1e-9 || math.Abs(*f.RatioLo-want) > 1e-9 || math.Abs(*f.RatioHi-want) > 1e-9 ||
			f.Different != (want != 1) || math.Abs(f.Value-want) > 1e-9 {
			t.Errorf("arm %d: %+v", i+1, f)
		}
		if better, ok := f.Better(); better || ok != (want != 1) {
			t.Errorf("arm %d: better %v, %v", i+1, better, ok)
		}
	}
	if _, err := json.Marshal(r); err != nil {
		t.Error(err)
	}
}

// A program that fails in the warm-up is named, and nothing is compared; one that fails
// now and then is compared by its other rounds; again and again ends it.
func TestFailures(t *testing.T) {
	failing := func(from, every int) func(int) *trial.Sample {
		return func(n int) *trial.Sample {
			s := &trial.Sample{Wall: 1, CPU: 1}
			if n >= from && n%every == 0 {
				s.Failure, s.Tail = "exit code 3", "out of cheese\n"
			}
			return s
		}
	}
	r, err := Compare(t.Context(), arms(wall(1), failing(1, 1)), plainOptions)
	if r != nil || err == nil || err.Error() != "b failed: exit code 3: out of cheese; --ignore-exit counts such runs, too" {
		t.Errorf("%v, %v", r, err)
	}
	r, err = Compare(t.Context(), arms(wall(1), failing(2, 5)), plainOptions)
	if err != nil || r.Rounds != 10 || r.Comparisons[0].Find("wall_seconds").N != 8 {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = Compare(t.Context(), arms(failing(2, 2), wall(1)), plainOptions)
	if r == nil || err == nil || !strings.HasPrefix(err.Error(), "3 runs failed, the last one: a failed: exit code 3") || r.Ended != Stopped {
		t.Errorf("%+v, %v", r, err)
	}
}

// The budget ends a comparison, and a run that would pass it.
func TestBudget(t *testing.T) {
	now := time.Unix(0, 0)
	opts := plainOptions
	opts.Budget, opts.now = 10*time.Second, func() time.Time { return now }
	slow := func(int) *trial.Sample { now = now.Add(time.Second); return &trial.Sample{Wall: 1, CPU: 1} }
	both := arms(slow, slow)
	r, err := Compare(t.Context(), both, opts)
	if err != nil || r.Rounds != 4 || r.Ended != Budget {
		t.Fatalf("%+v, %v", r, err)
	}
	if f := r.Comparisons[0].Find("wall_seconds"); f.RatioLo != nil || f.Different || f.Detectable != nil {
		t.Errorf("of 4 rounds: %+v", f)
	}
	var most []time.Duration
	for _, a := range both {
		for _, req := range a.Runner.(*canned).asked {
			most = append(most, req.Timeout)
		}
	}
	if slices.Sort(most); len(most) != 10 || most[0] != time.Second || most[9] != 10*time.Second {
		t.Errorf("bounds of runs: %v", most)
	}
	stuck := func(n int) *trial.Sample {
		now = now.Add(time.Second)
		if n == 3 {
			return &trial.Sample{TimedOut: true, Failure: "it took too long"}
		}
		return &trial.Sample{Wall: 1, CPU: 1}
	}
	if r, err = Compare(t.Context(), arms(slow, stuck), opts); err != nil || r.Ended != Budget ||
		r.Comparisons[0].Find("wall_seconds").N != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	stuck = func(int) *trial.Sample { return &trial.Sample{TimedOut: true, Failure: "it took too long"} }
	if _, err = Compare(t.Context(), arms(slow, stuck), opts); err == nil || err.Error() != "the first run of b did not end within --budget 10s: ab needs programs that end by themselves; put a server under load with --ready and --rate, or give a larger --budget" {
		t.Error(err)
	}
	opts.Metric = &metric.Spec{Name: metric.P99}
	if _, err = Compare(t.Context(), arms(slow, stuck), opts); err == nil || strings.Contains(err.Error(), "--ready") ||
		!strings.HasSuffix(err.Error(), "give a larger --budget, or a shorter load") {
		t.Error(err)
	}
}

// An interrupted comparison keeps what was measured.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(n int) *trial.Sample {
		if n == 5 {
			cancel()
		}
		return &trial.Sample{Wall: 1, CPU: 1}
	}
	r, err := Compare(ctx, arms(stop, stop), plainOptions)
	if !errors.Is(err, context.Canceled) || r == nil || r.Ended != Stopped {
		t.Fatalf("%+v, %v", r, err)
	}
	if n := r.Comparisons[0].Find("wall_seconds").N; n < 3 || n > 4 || r.Rounds != n {
		t.Errorf("%d rounds, of which %d were compared", r.Rounds, n)
	}
}

// Each Go benchmark is a figure that decides; figures of a whole run, whose iterations
// vary, are not compared.
func TestBenchmarks(t *testing.T) {
	bench := func(a, b float64) func(int) *trial.Sample {
		return func(int) *trial.Sample {
			return &trial.Sample{Wall: 3, CPU: 3, Metrics: map[string]float64{"Insert-2 ns/op": a, "Lookup-2 ns/op": b, "Insert-2 allocs/op": 0}}
		}
	}
	opts := plainOptions
	for _, text := range []string{"Insert>+3%", "BenchmarkLookup<-50%", "Lookup-2 ns/op>+10ns", "Insert allocs/op>+0"} {
		b, err := ParseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Bounds = append(opts.Bounds, b)
	}
	r, err := Compare(t.Context(), arms(bench(100, 50), bench(110, 20)), opts)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Comparisons[0]
	if c.Find("wall_seconds") != nil || !c.Find("Insert-2 ns/op").Primary || !c.Find("Lookup-2 ns/op").Primary {
		t.Errorf("%+v", c.Figures)
	}
	for i, want := range []Verdict{Beyond, Beyond, Within, Within} {
		if g := r.Gates[i]; g.Verdict != want {
			t.Errorf("%s: %s, want %s", g.Bound, g.Verdict, want)
		}
	}
	opts.Bounds = []Bound{{Text: "Delete>+3%", Key: "Delete", Above: true, Value: 0.03}}
	_, err = Compare(t.Context(), arms(bench(1, 1), bench(1, 1)), opts)
	if unknown := (&UnknownFigureError{}); !errors.As(err, &unknown) ||
		!strings.Contains(err.Error(), `no figure "Delete": want one of peak_rss, `) || !strings.HasSuffix(err.Error(), "Lookup-2 ns/op") {
		t.Error(err)
	}
	opts = plainOptions
	opts.Metric = &metric.Spec{Name: "op/s", Higher: true}
	if _, err = Compare(t.Context(), arms(bench(1, 1), bench(1, 1)), opts); err == nil || !strings.HasPrefix(err.Error(), "--metric op/s: ") {
		t.Error(err)
	}
}

// Figures that are 0 in the base are compared by their differences.
func TestZeroBase(t *testing.T) {
	faults := func(n int64) func(int) *trial.Sample {
		return func(int) *trial.Sample { return &trial.Sample{Wall: 1, CPU: 1, MajorFaults: n} }
	}
	r, err := Compare(t.Context(), arms(faults(0), faults(500)), plainOptions)
	if err != nil {
		t.Fatal(err)
	}
	if f := r.Comparisons[0].Find("major_faults"); f.Ratio != nil || f.Difference != 500 || f.N != 10 || !f.Different {
		t.Errorf("%+v", f)
	}
}

// Classes and functions that differ are found, and those that do not are not.
func TestProfile(t *testing.T) {
	sampled := func(gc float64, own string) func(int) *trial.Sample {
		return func(n int) *trial.Sample {
			s := &trial.Sample{Wall: 1, CPU: 1 + gc}
			if !sampled(n - 1) {
				return s
			}
			total := 1 + gc
			s.Profile = &profile.Result{
				Samples: uint64(1000 * total),
				Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: gc, Fraction: gc / total},
					{Class: profile.Program, Seconds: 1, Fraction: 1 / total}},
				GCFraction:        new(gc / total),
				MemoryTaxFraction: new(gc / total),
				Sites: []profile.Site{
					{Func: "main.same", Line: n, Seconds: 0.1, Classes: map[profile.Class]float64{profile.GCMark: 1}},
					{Func: own, Line: 7, Seconds: gc - 0.1, Classes: map[profile.Class]float64{profile.GCMark: 1}},
				},
			}
			return s
		}
	}
	opts := plainOptions
	opts.MaxRounds, opts.Detect = 20, 0.0001
	jitter := func(make func(int) *trial.Sample) func(int) *trial.Sample {
		return func(n int) *trial.Sample {
			s := make(n)
			s.Wall += 0.1 * float64(n%3)
			return s
		}
	}
	r, err := Compare(t.Context(), arms(jitter(sampled(0.2, "main.old")), sampled(0.5, "main.new")), opts)
	if err != nil {
		t.Fatal(err)
	}
	few := opts
	few.MaxRounds = 3 // of which two are sampled
	r2, err := Compare(t.Context(), arms(jitter(sampled(0.2, "main.old")), sampled(0.5, "main.new")), few)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range r2.Comparisons[0].Profile.Sites {
		if s.Different {
			t.Errorf("of two rounds: %+v", s)
		}
	}
	p := r.Comparisons[0].Profile
	if p == nil || p.N != 10 || len(p.Classes) != 2 {
		t.Fatalf("%+v", p)
	}
	for _, c := range p.Classes {
		if want := c.Class == profile.GCMark; c.Different != want || want && math.Abs(c.Difference-0.3) > 1e-9 {
			t.Errorf("%+v", c)
		}
	}
	for _, s := range p.Sites {
		switch s.Func {
		case "main.same":
			if s.Different || math.Abs(s.Difference) > 1e-9 {
				t.Errorf("%+v", s)
			}
		case "main.new": // the base's lists are not full: it has none
			if !s.Different || s.Base != nil || math.Abs(s.Difference-0.4) > 1e-9 {
				t.Errorf("%+v", s)
			}
		}
	}
}

// A figure of an arm is its own, whatever the difference within rounds is: no pause and
// no share is negative, no share above all, and the GC's is a part of the memory tax.
func TestOwnFigures(t *testing.T) {
	program := func(gc, rest func(n int) float64, pause float64) func(int) *trial.Sample {
		return func(n int) *trial.Sample {
			share, tax := gc(n), gc(n)+rest(n)
			// The pauses of a run are few, and some runs have none.
			paused := pause * float64(n%3)
			return &trial.Sample{Wall: 1, CPU: 1, GCShare: &share, MemoryTax: &tax, GCPause: &paused,
				Profile: &profile.Result{Samples: 100, GCFraction: &share, MemoryTaxFraction: &tax,
					Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: share, Fraction: share},
						{Class: profile.Allocation, Seconds: tax - share, Fraction: tax - share},
						{Class: profile.Program, Seconds: 1 - tax, Fraction: 1 - tax}}}}
		}
	}
	much := func(n int) float64 { return 0.05 + 0.45*float64(n%3) }
	little := func(int) float64 { return 0.02 }
	r, err := Compare(t.Context(), arms(program(much, little, 0.001), program(little, much, 0.0001)), plainOptions)
	if err != nil {
		t.Fatal(err)
	}
	c := r.Comparisons[0]
	gc, tax, pause := c.Find("gc_cpu_fraction"), c.Find("memory_tax_fraction"), c.Find("gc_pause_seconds")
	if gc.Ratio != nil || tax.Ratio != nil {
		t.Errorf("shares are compared by ratios: %v, %v", gc.Ratio, tax.Ratio)
	}
	// Of all samples together: not the median of shares.
	if pooled := 0.05 + 0.45*(2+0+1+2+0+1+2+0+1+2)/10.0; math.Abs(gc.Base-pooled) > 1e-9 {
		t.Errorf("GC share %v, want %v", gc.Base, pooled)
	}
	if math.Abs(gc.Value-0.02) > 1e-9 || pause.Value != 0.0001 || pause.Base != 0.001 {
		t.Errorf("GC share %v, pauses %v and %v", gc.Value, pause.Base, pause.Value)
	}
	for _, f := range []*Figure{gc, tax} {
		for _, v := range []float64{f.Base, f.Value} {
			if v < 0 || v > 1 {
				t.Errorf("%s: %v", f.Key, v)
			}
		}
		if lo, hi := *f.DifferenceLo, *f.DifferenceHi; lo < -f.Base || hi > 1-f.Base || f.Difference < lo || f.Difference > hi {
			t.Errorf("%s: %v (%v to %v) of %v", f.Key, f.Difference, lo, hi, f.Base)
		}
	}
	// Pauses of 0, 1 and 2 ms fell to a tenth: by differences, not by more than there were.
	if pause.Ratio != nil || pause.Difference < -pause.Base || *pause.DifferenceLo != -pause.Base {
		t.Errorf("pauses of %v: %v from %v", pause.Base, pause.Difference, *pause.DifferenceLo)
	}
	if gc.Base > tax.Base || gc.Value > tax.Value {
		t.Errorf("GC share %v and %v, memory tax %v and %v", gc.Base, gc.Value, tax.Base, tax.Value)
	}
}

// What would have been found does not grow with the difference that was.
func TestDetectableOfLargeDifference(t *testing.T) {
	noisy := func(factor float64) func(int) *trial.Sample {
		return func(n int) *trial.Sample {
			v := factor * (1 + 0.1*float64(n*n%7))
			return &trial.Sample{Wall: v, CPU: v}
		}
	}
	opts := plainOptions
	opts.MaxRounds, opts.Detect = 10, 0.0001
	var seen []float64
	for _, factor := range []float64{3, 1000} {
		r, err := Compare(t.Context(), arms(func(n int) *trial.Sample { return noisy(1)(n + 2) }, noisy(factor)), opts)
		if err != nil {
			t.Fatal(err)
		}
		f := r.Comparisons[0].Find("wall_seconds")
		if !f.Different || f.Detectable == nil || *r.Detectable != *f.Detectable || *f.Detectable >= *f.Ratio-1 {
			t.Errorf("%v: %+v, detectable %v", factor, f, r.Detectable)
			continue
		}
		seen = append(seen, *f.Detectable)
	}
	if len(seen) == 2 && math.Abs(seen[1]/seen[0]-1) > 1e-9 {
		t.Errorf("detectable %v", seen)
	}
}

// Where no round was completed there is no result, and the error says so.
func TestNothingCompared(t *testing.T) {
	now := time.Unix(0, 0)
	opts := plainOptions
	opts.Budget, opts.now = 2*time.Second, func() time.Time { return now }
	slow := func(int) *trial.Sample { now = now.Add(time.Second); return &trial.Sample{Wall: 1, CPU: 1} }
	r, err := Compare(t.Context(), arms(slow, slow), opts)
	if none := (&noRoundError{}); r != nil || !errors.As(err, &none) ||
		err.Error() != "nothing was compared: --budget 2s was spent before the first round was over; give a larger --budget" {
		t.Errorf("%+v, %v", r, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stop := func(n int) *trial.Sample {
		if n == 2 {
			cancel()
		}
		return &trial.Sample{Wall: 1, CPU: 1}
	}
	if r, err = Compare(ctx, arms(stop, stop), plainOptions); r != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", r, err)
	}
}
