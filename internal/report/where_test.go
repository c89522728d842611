package report

import (
	"bytes"
	"testing"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/stat"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/where"
)

// sampled returns where the eight seconds of goSample went.
func sampled() *where.Result {
	class := func(c where.Class, fraction float64) where.ClassShare {
		return where.ClassShare{Class: c, Seconds: 8 * fraction, Fraction: fraction}
	}
	r := &where.Result{
		Samples: 7976, Kernel: true,
		Classes: []where.ClassShare{
			class(where.GCMark, 0.25), class(where.GCAssist, 0.0625), class(where.Allocation, 0.125), class(where.Zeroing, 0.03125),
			class(where.Growth, 0.0625), class(where.PageFaults, 0.03125), class(where.Syscalls, 0.001), class(where.Program, 0.4365),
		},
		Sites: []where.Site{
			{Func: "example.com/shop.(*Cart).Add", File: "/src/shop/cart.go", Line: 42, Seconds: 1.25, Fraction: 0.15625,
				Classes: map[where.Class]float64{where.Allocation: 0.6, where.GCAssist: 0.3, where.Zeroing: 0.1}},
			{Func: "example.com/shop.index", File: "/src/shop/index.go", Line: 7, Seconds: 0.5, Fraction: 0.0625,
				Classes: map[where.Class]float64{where.Growth: 1}},
		},
	}
	r.Recompute()
	return r
}

func TestRunTextSampled(t *testing.T) {
	var samples []*trial.Sample
	for i := range 6 {
		s := goSample(i)
		s.Where = sampled()
		s.Recompute()
		samples = append(samples, s)
	}
	command := []string{"./shop", "-n", "1"}
	r := &Run{
		Title: "$ ./shop -n 1", Samples: samples, Notes: &stat.Notes{},
		Sheet: diagnose.NewSheet(testHost(), trial.Setting{}, command, samples),
	}
	var b bytes.Buffer
	if err := r.Text(&b); err != nil {
		t.Fatal(err)
	}
	golden(t, "run-sampled.txt", b.Bytes())
}

func TestRemoved(t *testing.T) {
	base, with := sampled(), sampled()
	for i := range with.Classes {
		switch c := &with.Classes[i]; c.Class {
		case where.GCMark:
			c.Seconds = 0.5 // from 2
		case where.PageFaults:
			c.Seconds = 0.75 // from 0.25
		case where.Syscalls:
			c.Seconds = 0 // too little to be told
		}
	}
	if got, want := removed(base, with, 4), "marking 2.000s -> 500.0ms, page faults 250.0ms -> 750.0ms"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := removed(nil, with, 4); got != "" {
		t.Errorf("without samples of the default: got %q", got)
	}
}
