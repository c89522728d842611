package text

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/cmd/internal/view/document"
)

// sampled returns where the eight seconds of goSample went.
func sampled() *profile.Result {
	class := func(c profile.Class, fraction float64) profile.ClassShare {
		return profile.ClassShare{Class: c, Seconds: 8 * fraction, Fraction: fraction}
	}
	r := &profile.Result{
		Samples: 7976, Kernel: true,
		Classes: []profile.ClassShare{
			class(profile.GCMark, 0.25), class(profile.GCAssist, 0.0625), class(profile.Allocation, 0.125), class(profile.Zeroing, 0.03125),
			class(profile.Growth, 0.0625), class(profile.PageFaults, 0.03125), class(profile.Syscalls, 0.001), class(profile.Program, 0.4365),
		},
		Sites: []profile.Site{
			{Func: "example.com/shop.(*Cart).Add", File: "/src/shop/cart.go", Line: 42, Seconds: 1.25, Fraction: 0.15625,
				Classes: map[profile.Class]float64{profile.Allocation: 0.6, profile.GCAssist: 0.3, profile.Zeroing: 0.1}},
			{Func: "example.com/shop.index", File: "/src/shop/index.go", Line: 7, Seconds: 0.5, Fraction: 0.0625,
				Classes: map[profile.Class]float64{profile.Growth: 1}},
		},
	}
	r.Recompute()
	return r
}

func TestRunTextSampled(t *testing.T) {
	var samples []*trial.Sample
	for i := range 6 {
		s := goSample(i)
		s.Profile = sampled()
		s.Recompute()
		samples = append(samples, s)
	}
	f := runFile(samples)
	f.Program.Command = []string{"./shop", "-n", "1"}
	analyze(f)
	document.SetNotes(f, nil)
	var b, again bytes.Buffer
	if err := show(&b, f, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if err := show(&again, savedAgain(t, f), Options{Full: true}); err != nil || again.String() != b.String() {
		t.Errorf("read back, %v:\n%s", err, again.String())
	}
	golden(t, "run-sampled.txt", b.Bytes())
	briefGolden(t, f, "sampled")

	// Where the kernel's side is hidden, its page faults are not in the memory tax.
	for _, s := range samples {
		s.Profile.Kernel = false
		for i := range s.Profile.Classes {
			if c := &s.Profile.Classes[i]; c.Class == profile.PageFaults {
				c.Class = profile.Kernel
			}
		}
		s.Profile.Recompute()
		s.Recompute()
	}
	f = runFile(samples)
	f.Program.Command = []string{"./shop", "-n", "1"}
	analyze(f)
	briefGolden(t, f, "hidden-kernel")
}

// In each row of the table of folio tune, the GC share is a part of the memory tax, both
// of the runs that were sampled, and neither is above 100%.
func TestTuneTableShares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := &result.File{Metric: result.NewTarget(&metric.Spec{Name: metric.Wall}, nil)}
		for i := range rapid.IntRange(1, 5).Draw(rt, "settings") {
			a := result.Arm{Name: fmt.Sprint("setting ", i), Final: &tune.Final{Rank: i}}
			for range rapid.IntRange(1, 6).Draw(rt, "runs") {
				s := goSample(1)
				s.GCRuntimeCPU = new(rapid.Float64Range(0, 300).Draw(rt, "trace")) // of 8 s
				if rapid.Bool().Draw(rt, "sampled") {
					s.Profile = &profile.Result{Samples: rapid.Uint64Range(1, 1e4).Draw(rt, "samples")}
					for _, k := range profile.Classes {
						s.Profile.Classes = append(s.Profile.Classes,
							profile.ClassShare{Class: k.Class, Seconds: rapid.Float64Range(0, 10).Draw(rt, string(k.Class))})
					}
				}
				s.Recompute()
				a.Samples = append(a.Samples, s)
			}
			a.Summary = result.Summarize(a.Samples)
			f.Arms = append(f.Arms, a)
		}
		f.Kind = result.KindTune
		tb := document.Text(f).Sections[0].Blocks[0].Tables[0]
		column := func(name string) int {
			return slices.IndexFunc(tb.Head, func(c document.Column) bool { return c.Label == name })
		}
		gc, tax := column("GC share"), column("memory tax")
		if gc < 0 || tax < 0 {
			return // no setting has enough samples
		}
		for _, row := range tb.Rows {
			if row.Cells[gc].Text == "-" && row.Cells[tax].Text == "-" {
				continue
			}
			var x, y float64
			if _, err := fmt.Sscanf(row.Cells[gc].Text+" "+row.Cells[tax].Text, "%f%% %f%%", &x, &y); err != nil || x < 0 || x > y || y > 100 {
				rt.Fatalf("GC share %s, memory tax %s: %v", row.Cells[gc].Text, row.Cells[tax].Text, err)
			}
		}
	})
}
