package html

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/trial/ab"
	"github.com/foliomem/folio/internal/trial/profile"
)

type abRunner struct{ factor float64 }

func (r abRunner) Run(context.Context, trial.Setting) (*trial.Sample, error) {
	peak := uint64(r.factor * (64 << 20))
	return &trial.Sample{Wall: r.factor, User: r.factor, CPU: r.factor, PeakRSS: &peak, Metrics: map[string]float64{}, Profile: &profile.Result{
		Samples: 500, Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: r.factor, Fraction: 1}}, GCFraction: 1, MemoryTaxFraction: 1,
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
