package diagnose

import (
	"errors"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/host"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

func sampledSheet(shares map[profile.Class]float64, sites ...profile.Site) *RunFacts {
	s := &RunFacts{Command: []string{"./prog"}, CPU: 10, Span: 5, Profile: &profile.Result{Samples: 1000, Kernel: true, Sites: sites}}
	rest := 1.0
	for class, f := range shares {
		rest -= f
		s.Profile.Classes = append(s.Profile.Classes, profile.ClassShare{Class: class, Seconds: 10 * f})
	}
	s.Profile.Classes = append(s.Profile.Classes, profile.ClassShare{Class: profile.Program, Seconds: 10 * rest})
	s.Profile.Recompute()
	return s
}

// TestAdviseByGain checks that advice comes in the order of what it can gain.
func TestAdviseByGain(t *testing.T) {
	site := profile.Site{Func: "main.load", File: "/src/load.go", Line: 12, Fraction: 0.5, Seconds: 5,
		Classes: map[profile.Class]float64{profile.Allocation: 0.6, profile.Growth: 0.4}}
	s := sampledSheet(map[profile.Class]float64{profile.GCMark: 0.1, profile.GCSweep: 0.02, profile.Allocation: 0.3,
		profile.Growth: 0.2, profile.PageFaults: 0.05}, site)
	var got []string
	for _, f := range s.Advise() {
		what, _, _ := strings.Cut(f.What, ":")
		got = append(got, what)
	}
	want := "Allocate less, or in bulk (reuse, arenas); Make slices and maps with their final size; Tune the GC; Fewer page faults"
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, "; "), want)
	}
	if fix := s.Advise()[0].Fix; fix != "at main.load (load.go:12) 30.0%" {
		t.Errorf("the first fix is %q", fix)
	}
}

// TestNoProblem checks that a program without a memory tax is told so.
func TestNoProblem(t *testing.T) {
	s := sampledSheet(map[profile.Class]float64{profile.GCMark: 0.01, profile.Allocation: 0.01})
	if got := s.Advise(); len(got) != 0 {
		t.Errorf("got advice %v", got)
	}
	if got := s.Nothing(); got != "Memory is not the bottleneck: GC, allocation and page faults take 2.0% of CPU time." {
		t.Error(got)
	}
	misses := uint64(50_000)
	s.Profile.TLBMisses = &misses
	if text := strings.Join(s.Time(), " "); !strings.Contains(text,
		"TLB: 50,000 loads walked the page tables, 5,000 per second of CPU time.") {
		t.Error(text)
	}
	s = sampledSheet(map[profile.Class]float64{profile.Allocation: 0.06}) // by no call site that is known
	if got := s.Nothing(); len(s.Advise()) != 0 || !strings.HasPrefix(got, "No recommendation: the memory tax is 6.0% of CPU time") {
		t.Error(got)
	}
	if got := (&RunFacts{}).Nothing(); got != "" {
		t.Error(got)
	}
}

// What It counts is never shown as a share beside what samples show, and no
// sentence denies GC that samples show.
func TestGCSentences(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*RunFacts)
		want   []string
	}{
		{"sampled and traced", func(*RunFacts) {},
			[]string{"GC: 30.0% of CPU time (3.000s); 4 cycles; stop-the-world 2.000ms total, 1.000ms max."}},
		{"It counts workers that wait", func(s *RunFacts) { *s.RuntimeCPU = 25 },
			[]string{"GC: 30.0% of CPU time (3.000s); 4 cycles; stop-the-world 2.000ms total, 1.000ms max."}},
		{"a child is not seen", func(s *RunFacts) { s.AtLeast = true },
			[]string{"GC: 30.0% of CPU time (3.000s); at least 4 cycles; stop-the-world at least 2.000ms total, 1.000ms max."}},
		{"no trace", func(s *RunFacts) { s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax = nil, nil, nil, nil },
			[]string{"GC: 30.0% of CPU time (3.000s); cycles unknown."}},
		{"no trace, and the runtime counted", func(s *RunFacts) { s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax, s.Counted = nil, nil, nil, nil, 11 },
			[]string{"GC: 30.0% of CPU time (3.000s); at least 11 cycles, as the runtime of the largest process counted."}},
		{"nothing is seen, and the runtime counted", func(s *RunFacts) {
			s.Profile, s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax, s.Counted, s.Runs = nil, nil, nil, nil, nil, 1, 3
		}, []string{"GC: at least 1 cycle in one run, as the runtime of the largest process counted."}},
		{"a child is not seen, which counted more", func(s *RunFacts) { s.AtLeast, s.Counted = true, 11 },
			[]string{"GC: 30.0% of CPU time (3.000s); at least 11 cycles, as the runtime of the largest process counted; stop-the-world at least 2.000ms total, 1.000ms max."}},
		{"a child is not seen, which counted fewer", func(s *RunFacts) { s.AtLeast, s.Counted = true, 3 },
			[]string{"GC: 30.0% of CPU time (3.000s); at least 4 cycles; stop-the-world"}},
		{"all are seen", func(s *RunFacts) { s.Counted = 4 }, []string{"GC: 30.0% of CPU time (3.000s); 4 cycles; stop-the-world"}},
		{"under load, the runtime counted before", func(s *RunFacts) {
			s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax, s.Counted, s.Server = nil, nil, nil, nil, 11, true
		}, []string{"GC: 30.0% of CPU time (3.000s); cycles unknown."}},
		{"no GC", func(s *RunFacts) {
			*s = *sampledSheet(nil)
			s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax = new(0.0), new(0.0), new(0.0), new(0.0)
		}, []string{"GC: 0 cycles."}},
		{"no GC, not sampled", func(s *RunFacts) {
			s.Profile, s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax = nil, new(0.0), new(0.0), new(0.0), new(0.0)
		}, []string{"GC: 0 cycles."}},
		{"not sampled", func(s *RunFacts) { s.Profile = nil }, []string{"GC: 4 cycles; stop-the-world 2.000ms total, 1.000ms max.",
			"GC CPU by the runtime: 2.500s, an estimate of 25.0% of CPU time. It includes GC workers waiting for a CPU, and leaves out sweeping and write barriers; sampling (--sample-rate) measures the GC share."}},
		{"not sampled, workers waited", func(s *RunFacts) { s.Profile, *s.RuntimeCPU = nil, 25 },
			[]string{"GC: 4 cycles; stop-the-world 2.000ms total, 1.000ms max."}},
		{"nothing is known", func(s *RunFacts) { s.Profile, s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax = nil, nil, nil, nil, nil },
			[]string{"GC: unknown."}},
	} {
		s := sampledSheet(map[profile.Class]float64{profile.GCMark: 0.3})
		s.Cycles, s.RuntimeCPU, s.Pause, s.PauseMax = new(4.0), new(2.5), new(0.002), new(0.001)
		tt.change(s)
		got := s.Time()
		for i, want := range tt.want {
			if i >= len(got) || !strings.HasPrefix(got[i], want) {
				t.Errorf("%s: %q, want %q", tt.name, got, want)
			}
		}
		// Only one line may speak of a share of the GC.
		if n := strings.Count(strings.Join(got, " "), "GC CPU by the runtime") + strings.Count(strings.Join(got, " "),
			"GC: 30.0%"); s.Profile != nil && strings.Contains(strings.Join(got, " "), "by the runtime:") || n > 1 {
			t.Errorf("%s: two shares: %q", tt.name, got)
		}
	}
}

// TestTooFewSamples checks that nothing is said from a handful of samples.
func TestTooFewSamples(t *testing.T) {
	sample := &trial.Sample{CPU: 0.01, GCCounted: trial.GCComplete, Profile: &profile.Result{Samples: profile.Fewest - 1}}
	if s := NewRunFacts(host.Info{}, trial.Setting{}, nil, []*trial.Sample{sample}); s.Profile != nil {
		t.Errorf("%d samples were taken for a result", profile.Fewest-1)
	} else if got, want := s.Analyze(), "Memory tax unknown: 19 CPU samples in 10.00ms of CPU time (20 needed). Run it longer, or --count 6."; got.Unknown != want || got.Nothing != "" {
		t.Errorf("%q, want %q; %q", got.Unknown, want, got.Nothing)
	}
	none := NewRunFacts(host.Info{}, trial.Setting{}, nil, []*trial.Sample{{CPU: 0.001, Profiled: true}})
	for want, s := range map[string]*RunFacts{
		"Memory tax unknown: 0 CPU samples in 1.000ms of CPU time (20 needed). No Go program was seen.": &none,
		"Memory tax unknown: CPU time was not sampled: perf_event_paranoid is 3.":                       {CPU: 1, Unsampled: errors.New("perf_event_paranoid is 3")},
		"Memory tax unknown: CPU time was not sampled.":                                                 {CPU: 1},
		"Memory tax unknown: CPU time is too short to be measured. Run it longer.":                      {Runs: 100, Go: true},
		"": {NoLoad: true, Failed: true, CPU: 1, SampledCPU: 1},
		"Memory tax unknown: the server was never put under load.":                                                            {NoLoad: true},
		"Memory tax unknown: 1 CPU sample in 2.000ms of CPU time (20 needed). Give a longer --duration.":                      {CPU: 1, Sampled: 1, SampledCPU: 0.002, PID: 7},
		"Memory tax unknown: 1 CPU sample in 2.000ms of CPU time (20 needed). Give a longer --load-duration, or more --rate.": {CPU: 1, Sampled: 1, SampledCPU: 0.002, Server: true},
	} {
		if got := s.Unknown(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Where much of the time is in code without names, no share is stated, and no verdict.
func TestNoVerdictWithoutNames(t *testing.T) {
	site := profile.Site{Func: "main.load", Seconds: 1, Classes: map[profile.Class]float64{profile.Allocation: 1}}
	s := sampledSheet(map[profile.Class]float64{profile.Unnamed: 0.9, profile.Allocation: 0.05}, site)
	s.Cycles, s.RuntimeCPU = new(190.0), new(0.1)
	a := s.Analyze()
	if a.Tax != nil || len(a.Findings) != 0 || a.Nothing != "" || a.Unknown != "Memory tax unknown: 90.0% of CPU time is in code without names." {
		t.Errorf("%+v", a)
	}
	text := strings.Join(a.Time, "\n")
	for _, want := range []string{"GC: 190 cycles.", "GC CPU by the runtime: 100.0ms, an estimate of 1.0% of CPU time."} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in: %s", want, text)
		}
	}
	if strings.Contains(text, " 0.0%") || strings.Contains(text, "--sample-rate") {
		t.Error(text)
	}
	// A few percent change nothing.
	s = sampledSheet(map[profile.Class]float64{profile.Unnamed: 0.04, profile.Allocation: 0.05})
	if a := s.Analyze(); a.Tax == nil || a.Tax.Fraction != 0.05 {
		t.Errorf("%+v", a)
	}
}
