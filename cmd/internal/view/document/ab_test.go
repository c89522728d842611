package document

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
)

// A gate that cannot be judged has neither passed nor failed, on the page as in the text.
func TestABUnjudgedGate(t *testing.T) {
	f := resulttest.AB()
	f.Result.Gates = []result.ABGate{{Bound: "oom_kills>+1", Key: "oom_kills", Arm: 1, Absolute: true, Verdict: result.VerdictUnknown}}
	a := abSection(f).Answers[0]
	if a.Goal != "Cannot be judged" || a.Text != "--fail-if 'oom_kills>+1': not measured." || a.Bad || a.Good {
		t.Errorf("%+v", a)
	}
}

// A result whose parts do not fit together is refused.
func TestABDamaged(t *testing.T) {
	for _, damage := range []func(*result.AB){
		func(f *result.AB) { f.Result.Comparisons[0].Arm = 2 },
		func(f *result.AB) { f.Result.Gates[0].Arm = -1 },
		func(f *result.AB) { f.Arms[1].Samples[3] = nil },
	} {
		f := resulttest.AB()
		damage(f)
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := result.Read("x.json", data); err == nil || !strings.HasPrefix(err.Error(), "x.json: damaged: ") {
			t.Error(err)
		}
	}
}

// A picture of differences has those with an interval, in percent of the base: not what
// one round showed, nor points of a share. A page without any of them has no picture.
func TestABPicture(t *testing.T) {
	one := func(figures ...result.ABFigure) *Block {
		return abCompared(&result.ABComparison{Arm: 1, Figures: figures}, "b against a")
	}
	known := result.ABFigure{Key: "wall_seconds", Unit: result.UnitSeconds, N: 9, Primary: true, Base: 1, Value: 2, Difference: 1,
		Ratio: new(2.0), RatioLo: new(1.5), RatioHi: new(2.5), DifferenceLo: new(0.5), DifferenceHi: new(1.5)}
	few := result.ABFigure{Key: "cpu_seconds", Unit: result.UnitSeconds, N: 1, Base: 1, Value: 1.06, Difference: 0.06, Ratio: new(1.06)}
	share := result.ABFigure{Key: "gc_cpu_fraction", Unit: result.UnitFraction, N: 9, Base: 0.4, Value: 0.1, Difference: -0.3,
		DifferenceLo: new(-0.4), DifferenceHi: new(-0.2), Different: true}
	if b := one(known, few, share); len(b.Charts) != 1 || len(b.Charts[0].Y.Categories) != 1 || b.Charts[0].Y.Categories[0] != "wall time (decides)" {
		t.Errorf("%+v", b.Charts)
	} else if cells := b.Tables[0].Rows[2].Cells; cells[3].Text != "-30.0 points" || cells[4].Text != "-40.0 to -20.0 points" {
		t.Errorf("%+v", cells)
	}
	// Bars begin at the base, and say what the table says.
	none := known
	none.Key, none.Primary, none.Different, none.RatioLo = "user_seconds", false, false, new(0.9)
	known.Different = true
	b := one(known, none)
	points := b.Charts[0].Series[0].P
	for i, want := range []Point{{X: 1, XLo: new(0.5), Text: "+100.0%"}, {X: 1, XLo: new(-0.1), Text: "~", Ref: true}} {
		p, cells := points[i], b.Tables[0].Rows[i].Cells
		if p.X != want.X || math.Abs(*p.XLo-*want.XLo) > 1e-9 || *p.XHi != 1.5 || p.Text != want.Text || p.Text != cells[3].Text || p.Ref != want.Ref {
			t.Errorf("%+v, the table has %q", p, cells[3].Text)
		}
	}
	// The runtime's own count of the GC's CPU time is there only where samples have none.
	runtime := known
	runtime.Key, runtime.Primary = "gc_runtime_cpu_seconds", false
	sampled := runtime
	sampled.Key = "gc_cpu_seconds"
	if rows := one(runtime, sampled).Tables[0].Rows; len(rows) != 1 || rows[0].Cells[0].Text != "GC CPU" {
		t.Errorf("%+v", rows)
	}
	if rows := one(runtime).Tables[0].Rows; len(rows) != 1 || rows[0].Cells[0].Text != "GC (runtime)" {
		t.Errorf("%+v", rows)
	}
	if b := one(few); len(b.Charts) != 0 || len(b.Tables) != 1 {
		t.Errorf("%+v", b)
	}
	if b := one(); len(b.Charts) != 0 || len(b.Tables) != 0 || len(b.Words) != 1 {
		t.Errorf("%+v", b)
	}
}
