package diagnose

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/where"
)

func sampledSheet(shares map[where.Class]float64, sites ...where.Site) *Sheet {
	s := &Sheet{Command: []string{"./prog"}, CPU: 10, Wall: 5, Where: &where.Result{Samples: 1000, Kernel: true, Sites: sites}}
	rest := 1.0
	for _, c := range where.Classes {
		f := shares[c.Class]
		if c.Class == where.Program {
			continue
		}
		rest -= f
		if c.Memory {
			s.Where.MemoryTaxFraction += f
		}
		s.Where.Classes = append(s.Where.Classes, where.ClassShare{Class: c.Class, Seconds: 10 * f, Fraction: f})
	}
	s.Where.Classes = append(s.Where.Classes, where.ClassShare{Class: where.Program, Seconds: 10 * rest, Fraction: rest})
	return s
}

// TestAdviseByGain checks that advice comes in the order of what it can gain.
func TestAdviseByGain(t *testing.T) {
	site := where.Site{Func: "main.load", File: "/src/load.go", Line: 12, Fraction: 0.5, Seconds: 5,
		Classes: map[where.Class]float64{where.Allocation: 0.6, where.Growth: 0.4}}
	s := sampledSheet(map[where.Class]float64{where.GCMark: 0.1, where.GCSweep: 0.02, where.Allocation: 0.3, where.Growth: 0.2, where.PageFaults: 0.05}, site)
	var got []string
	for _, f := range s.Advise() {
		what, _, _ := strings.Cut(f.What, ":")
		got = append(got, what)
	}
	want := "allocate less, or in bulk (reuse, an arena); make slices and maps of the right size at once; tune the collector; take fewer page faults"
	if strings.Join(got, "; ") != want {
		t.Errorf("got  %q\nwant %q", strings.Join(got, "; "), want)
	}
	if fix := s.Advise()[0].Fix; fix != "at main.load (load.go:12) 30.0%" {
		t.Errorf("the first fix is %q", fix)
	}
}

// TestNoProblem checks that a program without a memory tax is told so.
func TestNoProblem(t *testing.T) {
	s := sampledSheet(map[where.Class]float64{where.GCMark: 0.01, where.Allocation: 0.01})
	if got := s.Advise(); len(got) != 0 {
		t.Errorf("got advice %v", got)
	}
	gc, n, misses := 0.1, 1.0, uint64(50_000)
	for _, traced := range []bool{false, true} {
		if traced {
			s.GCCPU, s.Cycles, s.Where.TLBMisses = &gc, &n, &misses
		}
		text := strings.Join(s.Time(), " ")
		if !strings.Contains(text, "Memory is not this program's problem.") || strings.Contains(text, "walked the page tables for 50000 loads, 5 a millisecond") != traced {
			t.Errorf("traced %t: got %q", traced, text)
		}
	}
}

// TestTraceDiffers checks that a difference between samples and trace is explained.
func TestTraceDiffers(t *testing.T) {
	for _, tt := range []struct {
		trace float64
		want  string
	}{{1, "the trace leaves out"}, {5, "the trace counts"}, {3, ""}} {
		s := sampledSheet(map[where.Class]float64{where.GCMark: 0.3})
		n := 4.0
		s.GCCPU, s.Cycles = &tt.trace, &n
		text := strings.Join(s.Time(), " ")
		if explained := strings.Contains(text, "Sampling sees"); explained != (tt.want != "") || !strings.Contains(text, tt.want) {
			t.Errorf("trace %v of 10 s, sampled 3 s: got %q", tt.trace, text)
		}
	}
}

// TestTooFewSamples checks that nothing is said from a handful of samples.
func TestTooFewSamples(t *testing.T) {
	sample := &trial.Sample{CPU: 0.01, Where: &where.Result{Samples: fewestSamples - 1}}
	if s := NewSheet(host.Info{}, trial.Setting{}, nil, []*trial.Sample{sample}); s.Where != nil {
		t.Errorf("%d samples were taken for a result", fewestSamples-1)
	}
}
