package profile

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/internal/system/perf"
)

// invariant says what is wrong with a result: a share above 100%, or a part above
// its whole. Comparisons are exact where a reader could see them.
func invariant(r *Result) error {
	sum, gc, memory := 0.0, 0.0, 0.0
	for _, s := range r.Classes {
		if !(s.Seconds > 0) || !(s.Fraction >= 0 && s.Fraction <= 1) {
			return fmt.Errorf("%s: %v s, %v of all", s.Class, s.Seconds, s.Fraction)
		}
		sum += s.Fraction
		if s.Class.Info().GC {
			gc += s.Fraction
		}
		if s.Class.Info().Memory {
			memory += s.Fraction
		}
	}
	const rounding = 1e-12
	switch {
	case len(r.Classes) > 0 && math.Abs(sum-1) > rounding:
		return fmt.Errorf("the classes are %v of all", sum)
	case (r.GCFraction == nil) != (r.MemoryTaxFraction == nil):
		return fmt.Errorf("GC %v, memory tax %v", r.GCFraction, r.MemoryTaxFraction)
	case r.GCFraction == nil && len(r.Classes) > 0 && r.Share(Unnamed).Fraction < mostUnnamed-rounding:
		return fmt.Errorf("shares are unknown, and %v of all has no names", r.Share(Unnamed).Fraction)
	case r.GCFraction == nil:
	case r.Share(Unnamed).Fraction > mostUnnamed+rounding:
		return fmt.Errorf("GC %v, and %v of all has no names", *r.GCFraction, r.Share(Unnamed).Fraction)
	case !(0 <= *r.GCFraction && *r.GCFraction <= *r.MemoryTaxFraction && *r.MemoryTaxFraction <= 1):
		return fmt.Errorf("GC %v, memory tax %v", *r.GCFraction, *r.MemoryTaxFraction)
	case math.Abs(gc-*r.GCFraction) > rounding || math.Abs(memory-*r.MemoryTaxFraction) > rounding:
		return fmt.Errorf("GC %v and memory tax %v, the classes of them %v and %v", *r.GCFraction, *r.MemoryTaxFraction, gc, memory)
	}
	for _, s := range r.Sites {
		if !(s.Fraction >= 0 && s.Fraction <= memory+rounding) {
			return fmt.Errorf("site %s: %v of all, the memory tax is %v", s.Func, s.Fraction, memory)
		}
	}
	for _, s := range r.FaultSites {
		if !(s.Fraction >= 0 && s.Fraction <= 1+rounding) {
			return fmt.Errorf("site %s: %v of all faults", s.Func, s.Fraction)
		}
	}
	return nil
}

// anyResult draws a result by way of samples, as every real one is made.
func anyResult(t *rapid.T) *Result {
	c, h := fakeCollector(nil, Options{})
	stacks := [][]uint64{{computeAt + 1, mainAt + 9}, {mallocAt + 1, workAt + 7, mainAt + 9},
		{clearAt + 1, mallocAt + 3, workAt + 8}, {workerAt + 1}, {0x90000}, {}}
	for range rapid.IntRange(0, 40).Draw(t, "samples") {
		s := sampleOf(1, rapid.SampledFrom(stacks).Draw(t, "stack")...)
		s.Period = rapid.Uint64Range(0, 1<<40).Draw(t, "period")
		if rapid.Bool().Draw(t, "fault") {
			s.Kind = perf.Fault
		}
		if s.InKernel = rapid.Bool().Draw(t, "in kernel"); s.InKernel && rapid.Bool().Draw(t, "seen") {
			s.Kernel = []uint64{1, 2, 3}
		}
		h.Sample(s)
	}
	seconds := rapid.SampledFrom([]float64{0, 1e-6, 0.01, 1.0 / 3, 7, 1e5})
	return c.Result(Accounts{
		User: seconds.Draw(t, "user"), Sys: seconds.Draw(t, "sys"), Faults: rapid.Uint64Range(0, 1<<30).Draw(t, "faults"),
		Info: perf.Info{Kernel: rapid.Bool().Draw(t, "kernel seen"), Hardware: rapid.Bool().Draw(t, "hardware")},
	})
}

// No share above 100%, no part above its whole, of one run and of several.
func TestNoPartAboveItsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		results := rapid.SliceOfN(rapid.Custom(anyResult), 1, 5).Draw(t, "results")
		for _, r := range results {
			if err := invariant(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := invariant(Mean(results)); err != nil {
			t.Fatal("together: ", err)
		}
	})
}

// What a file says is made to agree with itself, whatever it says.
func TestRecompute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		any := rapid.Float64()
		r := &Result{GCFraction: new(any.Draw(t, "gc")), MemoryTaxFraction: new(any.Draw(t, "tax"))}
		for range rapid.IntRange(0, 8).Draw(t, "classes") {
			class := rapid.SampledFrom(append([]Class{"no such class", Unnamed}, GC...)).Draw(t, "class")
			r.Classes = append(r.Classes, ClassShare{class, rapid.Float64Range(-1, 1e9).Draw(t, "seconds"), any.Draw(t, "fraction")})
		}
		r.Sites = []Site{{Func: "f", Seconds: any.Draw(t, "site"), Fraction: any.Draw(t, "of all")}}
		r.Recompute()
		if err := invariant(r); err != nil {
			t.Fatal(err)
		}
	})
	// A result that agrees with itself stays as it is.
	one := &Result{Classes: []ClassShare{{GCMark, 1, 0.25}, {Allocation, 1, 0.25}, {Program, 2, 0.5}}, GCFraction: new(0.25),
		MemoryTaxFraction: new(0.5), Sites: []Site{{Seconds: 1, Fraction: 0.25}}}
	text := func() string { b, _ := json.Marshal(one); return string(b) }
	before := text()
	if one.Recompute(); text() != before {
		t.Errorf("got %s, want %s", text(), before)
	}
}

// The GC share is defined once, as a part of the memory tax.
func TestGCIsPartOfMemory(t *testing.T) {
	want := map[Class]bool{GCMark: true, GCAssist: true, GCSweep: true, WriteBarrier: true}
	for i, k := range Classes {
		if k.GC != want[k.Class] || k.GC && !k.Memory {
			t.Errorf("%s: GC %v, memory %v", k.Class, k.GC, k.Memory)
		}
		// Recompute, classes: the sums have to be prefixes of one another.
		if i > 0 && (k.GC && !Classes[i-1].GC || k.Memory && !Classes[i-1].Memory) {
			t.Errorf("%s comes after what it must come before", k.Class)
		}
	}
	if fmt.Sprint(GC) != "[gc_mark gc_assist gc_sweep write_barrier]" {
		t.Error(GC)
	}
}
