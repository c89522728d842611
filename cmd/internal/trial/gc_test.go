package trial

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// contradiction says which GC figure of a sample denies another.
func (s *Sample) contradiction() error {
	known := s.GCCycles != nil
	switch {
	case known != (s.GCRuntimeCPU != nil) || known != (s.GCPause != nil) || s.GCPauseMax != nil && !known:
		return fmt.Errorf("figures of the GC are known in part")
	case known && s.GCCounted == "":
		return fmt.Errorf("%d GC cycles, and nothing says whether these are all", *s.GCCycles)
	case known && *s.GCCycles == 0 && s.GCCounted != GCComplete:
		return fmt.Errorf("0 GC cycles by a trace that is %q", s.GCCounted)
	case known && *s.GCCycles == 0 && s.gcSampled():
		return fmt.Errorf("0 GC cycles, and samples have a GC share of %v", *s.GCShare)
	case s.GCPauseMax != nil && *s.GCPauseMax > *s.GCPause:
		return fmt.Errorf("the longest pause is %v s of %v s", *s.GCPauseMax, *s.GCPause)
	case s.Profile == nil && (s.GCShare != nil || s.GCSeconds != nil || s.MemoryTax != nil):
		return fmt.Errorf("shares without samples")
	case s.Profile != nil && (s.GCShare == nil) != (s.Profile.GCFraction == nil):
		return fmt.Errorf("GC share %v, and of the classes %v", s.GCShare, s.Profile.GCFraction)
	case s.GCShare != nil && !(0 <= *s.GCShare && *s.GCShare <= *s.MemoryTax && *s.MemoryTax <= 1):
		return fmt.Errorf("GC share %v, memory tax %v", *s.GCShare, *s.MemoryTax)
	case s.GCSeconds != nil && !(0 <= *s.GCSeconds && *s.GCSeconds <= s.Profile.CPU()):
		return fmt.Errorf("%v s of GC in %v s", *s.GCSeconds, s.Profile.CPU())
	}
	return nil
}

// anyWhere draws where the time of a run went.
func anyWhere(t *rapid.T) *profile.Result {
	r := &profile.Result{Samples: rapid.Uint64Range(1, 1e4).Draw(t, "samples")}
	for _, k := range profile.Classes {
		if rapid.Bool().Draw(t, "has "+string(k.Class)) {
			r.Classes = append(r.Classes, profile.ClassShare{Class: k.Class, Seconds: rapid.Float64Range(0, 100).Draw(t, string(k.Class))})
		}
	}
	r.Recompute()
	return r
}

func anySample(t *rapid.T) *Sample {
	s := &Sample{CPU: rapid.Float64Range(0, 100).Draw(t, "cpu")}
	if rapid.Bool().Draw(t, "sampled") {
		s.setWhere(anyWhere(t))
	}
	// The CPU time of a trace has no bound: workers wait for CPUs.
	pause := time.Duration(rapid.Int64Range(0, 1e9).Draw(t, "pause"))
	g := gcTotals{known: rapid.Bool().Draw(t, "known")}
	if g.known {
		g.Figures = gccount.Figures{Cycles: rapid.Uint64Range(0, 3).Draw(t, "cycles"),
			CPU: goruntime.GCCPU{Idle: time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "runtime"))}, PauseTotal: pause, PauseMax: pause / 2}
	}
	if rapid.Bool().Draw(t, "in part") {
		g.err = errUntold
	}
	s.setGC(g)
	return s
}

// No figure of a sample denies another; nor do the figures of several, aggregated as
// tables show them, nor those of a file that anybody may have written.
func TestNoGCFigureDeniesAnother(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		samples := rapid.SliceOfN(rapid.Custom(anySample), 1, 6).Draw(t, "runs")
		for _, s := range samples {
			if err := s.contradiction(); err != nil {
				t.Fatal(err)
			}
		}
		gc, ok := FigureOf("gc_cpu_fraction").Center(samples)
		tax, ok2 := FigureOf("memory_tax_fraction").Center(samples)
		if ok != ok2 || gc > tax || tax > 1 || gc < 0 {
			t.Fatalf("together: GC share %v (%v), memory tax %v (%v)", gc, ok, tax, ok2)
		}
		if w := Profile(samples); ok && (w == nil || *w.GCFraction != gc || *w.MemoryTaxFraction != tax) {
			t.Fatalf("the table says %v and %v, the classes say %+v", gc, tax, w)
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		some := func(name string) *float64 {
			if !rapid.Bool().Draw(t, name+" known") {
				return nil
			}
			return new(rapid.Float64Range(-1, 300).Draw(t, name))
		}
		s := &Sample{
			GCCounted: GCState(rapid.SampledFrom([]string{"", "partial", "complete", "x"}).Draw(t, "trace")), GCRuntimeCPU: some("trace cpu"),
			GCPause: new(1.0), GCPauseMax: new(0.5), GCSeconds: some("seconds"), GCShare: some("share"), MemoryTax: some("tax"),
		}
		if rapid.Bool().Draw(t, "cycles known") {
			s.GCCycles = new(rapid.IntRange(0, 2).Draw(t, "cycles"))
		}
		if rapid.Bool().Draw(t, "where") {
			s.Profile = anyWhere(t)
			s.Profile.GCFraction, s.Profile.MemoryTaxFraction = new(rapid.Float64().Draw(t, "gc")), new(rapid.Float64().Draw(t, "tax of it"))
		}
		if s.Recompute(); s.contradiction() != nil {
			t.Fatal(s.contradiction())
		}
	})
}

func TestSetGC(t *testing.T) {
	some := gccount.Figures{Cycles: 3, CPU: goruntime.GCCPU{Idle: time.Second}, HeapPeak: 5}
	none := gccount.Figures{HeapPeak: 4}
	for _, c := range []struct {
		name   string
		share  *float64
		of     gcTotals
		want   GCState
		cycles *int
	}{
		{"all read", new(0.3), gcTotals{Figures: some, known: true}, GCComplete, new(3)},
		{"a child was not", new(0.3), gcTotals{Figures: some, known: true, err: errUntold}, GCPartial, new(3)},
		{"never collected", new(0.0), gcTotals{Figures: none, known: true}, GCComplete, new(0)},
		{"never collected, not sampled", nil, gcTotals{Figures: none, known: true}, GCComplete, new(0)},
		{"never collected, one stray sample of many", new(0.0001), gcTotals{Figures: none, known: true}, GCComplete, new(0)},
		{"samples show GC", new(0.02), gcTotals{Figures: none, known: true}, GCPartial, nil},
		{"a child may have collected", nil, gcTotals{Figures: none, known: true, err: errUntold}, GCPartial, nil},
		{"none could be read", nil, gcTotals{err: errUntold}, GCPartial, nil},
		{"no Go program", new(0.0), gcTotals{}, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Sample{GCShare: c.share}
			s.setGC(c.of)
			if s.GCCounted != c.want || (s.GCCycles == nil) != (c.cycles == nil) || c.cycles != nil && *s.GCCycles != *c.cycles {
				t.Errorf("got %q, %v cycles, want %q, %v", s.GCCounted, value2(s.GCCycles), c.want, value2(c.cycles))
			}
			if (s.HeapPeak != nil) != c.of.known || (s.GC != nil) != (c.cycles != nil) || (s.Uncounted != nil) != (c.want == GCPartial) {
				t.Errorf("got %+v", s)
			}
		})
	}
}

// One sample of a short program does not prove that a cycle ran, two do.
func TestFewSamplesOfGC(t *testing.T) {
	for gc, want := range map[float64]bool{0: false, 1: false, 2: true} {
		s := &Sample{GCShare: new(gc / 10), Profile: &profile.Result{Samples: 10}}
		if s.setGC(gcTotals{known: true}); (s.GCCycles == nil) != want {
			t.Errorf("%v of 10 samples: %v cycles", gc, value2(s.GCCycles))
		}
	}
}

func value2(p *int) any {
	if p == nil {
		return "unknown"
	}
	return *p
}

// Two runs of unlike length: the shares of both together are those of their time,
// whoever asks, and the seconds these shares of the median CPU time.
func TestPooled(t *testing.T) {
	run := func(gc, alloc, own float64, samples uint64) *Sample {
		r := &profile.Result{Samples: samples}
		for c, s := range map[profile.Class]float64{profile.GCMark: gc, profile.Allocation: alloc, profile.Program: own} {
			r.Classes = append(r.Classes, profile.ClassShare{Class: c, Seconds: s})
		}
		r.Recompute()
		s := &Sample{CPU: gc + alloc + own}
		s.setWhere(r)
		return s
	}
	samples := []*Sample{run(1, 1, 8, 100), run(1, 2, 1, 50), {CPU: 5}}
	for key, want := range map[string]float64{"gc_cpu_fraction": 2.0 / 14, "memory_tax_fraction": 5.0 / 14, "gc_cpu_seconds": 5 * 2.0 / 14} {
		f := FigureOf(key)
		if got, ok := f.Center(samples); !ok || !f.Pooled || math.Abs(got-want) > 1e-12 {
			t.Errorf("%s: %v, %v, want %v", key, got, ok, want)
		}
	}
	if f := FigureOf("cpu_seconds"); f.Pooled {
		t.Error("CPU time is pooled")
	} else if got, ok := f.Center(samples); got != 5 || !ok {
		t.Errorf("CPU time: %v, %v, want the median", got, ok)
	}
	few := []*Sample{run(1, 1, 1, profile.Fewest-1)}
	if got, ok := FigureOf("gc_cpu_fraction").Center(few); ok {
		t.Errorf("%v by %d samples", got, profile.Fewest-1)
	}
	if got := FigureOf("gc_cpu_fraction").Values(few); got != nil {
		t.Errorf("%v by %d samples", got, profile.Fewest-1)
	}
	if got, ok := FigureOf("gc_cycles").Center(samples); ok {
		t.Errorf("%v GC cycles of runs that were not read", got)
	}
}

// A file says what its figures are.
func TestGCTraceInJSON(t *testing.T) {
	s := &Sample{}
	s.setGC(gcTotals{Figures: gccount.Figures{Cycles: 2, CPU: goruntime.GCCPU{Assist: 3 * time.Second}}, known: true, err: errUntold})
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(data, &m); err != nil {
		t.Fatal(err)
	}
	if m["gc_counted"] != "partial" || m["gc_cycles"] != 2.0 || m["gc_runtime_cpu_seconds"] != 3.0 ||
		m["gc_cpu_seconds"] != nil || m["gc_cpu_fraction"] != nil {
		t.Errorf("%s", data)
	}
}
