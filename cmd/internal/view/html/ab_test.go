package html

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/ab"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

type abRunner struct{ factor float64 }

func (r abRunner) Run(context.Context, trial.Setting, trial.Request) (*trial.Sample, error) {
	peak := uint64(r.factor * (64 << 20))
	return &trial.Sample{Wall: r.factor, User: r.factor, CPU: r.factor, PeakRSS: &peak, Metrics: map[string]float64{}, Profile: &profile.Result{
		Samples: 500, Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: r.factor, Fraction: 1}}, GCFraction: new(1.0), MemoryTaxFraction: new(1.0),
		Sites: []profile.Site{{Func: "main.<load>", File: "main.go", Line: 1, Seconds: r.factor, Fraction: 1,
			Classes: map[profile.Class]float64{profile.GCMark: 1}}},
	}}, nil
}

// abFile is a result of folio ab in which the second program needs less of everything.
func abFile() *result.AB {
	arms := []*trial.Arm{{Runner: abRunner{1}}, {Runner: abRunner{0.5}}}
	res, err := ab.Compare(context.Background(), arms, ab.Options{
		Detect: 0.02, Budget: time.Hour, MaxRounds: 10, Bounds: []ab.Bound{{Text: "wall<-10%", Key: "wall_seconds", Value: -0.1}},
	})
	if err != nil {
		panic(err)
	}
	f := &result.AB{Header: result.Header{Schema: result.Schema, Kind: result.KindAB, Folio: "v0"}, Complete: true,
		Setting: result.NewSetting(trial.Setting{}), Result: res}
	for i, name := range []string{"main", "HEAD"} {
		f.Arms = append(f.Arms, result.ABArm{Name: name, Program: result.Program{Command: []string{"prog", "<x>"}}, Samples: arms[i].Samples})
	}
	return f
}

func TestABPage(t *testing.T) {
	data, err := abFile().JSON()
	if err != nil {
		t.Fatal(err)
	}
	r, err := result.Read("ab.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if n := r.Samples(); n != 20 {
		t.Errorf("%d samples", n)
	}
	page, err := Render(NewPage(r))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"folio ab", "HEAD against main", "Wall: -50.0% (-50.0% to -50.0%), better.",
		"failed: the interval is -50.0% to -50.0%", "main.&lt;load&gt;", "CPU time by class", "10 rounds in "} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(page), "main.<load>") {
		t.Error("a name became markup")
	}
	// Interrupted before there was anything, and beside another result.
	f := &result.AB{Header: result.Header{Schema: result.Schema, Kind: result.KindAB}, Error: "interrupted"}
	if data, err = f.JSON(); err != nil {
		t.Fatal(err)
	}
	empty, err := result.Read("empty.json", data)
	if err != nil {
		t.Fatal(err)
	}
	if page, err = Render(NewPage(empty)); err != nil || !strings.Contains(string(page), "Nothing was compared.") {
		t.Error(err)
	}
	if page, err = Render(NewPage(r, empty)); err != nil || !strings.Contains(string(page), "is a comparison itself") {
		t.Error(err)
	}
}

// A gate that cannot be judged has neither passed nor failed, on the page as in the text.
func TestABUnjudgedGate(t *testing.T) {
	f := abFile()
	f.Result.Gates = []result.ABGate{{Bound: "oom_kills>+1", Key: "oom_kills", Arm: 1, Absolute: true, Verdict: result.VerdictUnknown}}
	a := abSection(f).Answers[0]
	if a.Goal != "Cannot be judged" || a.Text != "--fail-if 'oom_kills>+1': cannot be judged: not measured." || a.Bad || !a.Neutral {
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
		f := abFile()
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
	if b := one(known, few, share); len(b.Charts) != 1 || len(b.Charts[0].Y.Categories) != 1 || b.Charts[0].Y.Categories[0] != "wall" {
		t.Errorf("%+v", b.Charts)
	} else if cells := b.Tables[0].Rows[2].Cells; cells[3].Text != "-30.0 points" || cells[4].Text != "-40.0 to -20.0 points" {
		t.Errorf("%+v", cells)
	}
	if b := one(few); len(b.Charts) != 0 || len(b.Tables) != 1 {
		t.Errorf("%+v", b)
	}
	if b := one(); len(b.Charts) != 0 || len(b.Tables) != 0 || len(b.Words) != 1 {
		t.Errorf("%+v", b)
	}
}
