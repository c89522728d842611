package resulttest

import (
	"context"
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

// AB is a result of folio ab in which the second program needs less of everything.
func AB() *result.AB {
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
