package text

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/ab"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
)

// A machineOf runs a program of which the n-th run is what make says.
type machineOf struct {
	n    int
	make func(n int) *trial.Sample
}

func (m *machineOf) Run(context.Context, trial.Setting, trial.Request) (*trial.Sample, error) {
	m.n++
	return m.make(m.n), nil
}

// abFile is a result of three programs: one needs less of everything, one is the base
// once more.
func abFile(t *testing.T, bounds ...string) *result.AB {
	t.Helper()
	program := func(factor float64) *trial.Arm {
		return &trial.Arm{Runner: &machineOf{make: func(n int) *trial.Sample {
			drift := 1 + 0.1*float64(n%3) // of all programs alike
			wall, peak := factor*drift*(1+0.001*float64(n%4)), uint64(factor*(64<<20))
			gc := 0.3 * factor * factor
			s := &trial.Sample{Wall: wall, User: 0.9 * wall, Sys: 0.1 * wall, CPU: wall, PeakRSS: &peak, MinorFaults: int64(10000 * factor)}
			s.Profile = &profile.Result{
				Samples: 500, Kernel: true, GCFraction: &gc, MemoryTaxFraction: &gc,
				Classes: []profile.ClassShare{{Class: profile.GCMark, Seconds: gc, Fraction: gc},
					{Class: profile.Program, Seconds: 0.7, Fraction: 1 - gc}},
				Sites: []profile.Site{{Func: "main.load", File: "main.go", Line: 12, Seconds: gc, Fraction: gc,
					Classes: map[profile.Class]float64{profile.GCMark: 1}}},
			}
			return s
		}}}
	}
	arms := []*trial.Arm{program(1), program(0.75), program(1)}
	opts := ab.Options{Detect: 0.02, Budget: time.Hour, Seed: 1, MaxRounds: 40}
	for _, text := range bounds {
		b, err := ab.ParseBound(text)
		if err != nil {
			t.Fatal(err)
		}
		opts.Bounds = append(opts.Bounds, b)
	}
	res, err := ab.Compare(t.Context(), arms, opts)
	if err != nil {
		t.Fatal(err)
	}
	f := &result.AB{
		Header: result.Header{Schema: result.Schema, Kind: result.KindAB, Folio: "v0"}, Complete: true,
		Host: testHost(), Seed: 1, ElapsedSeconds: 12.5,
		Setting: result.NewSetting(trial.Setting{}), Result: res, Notes: []string{"a note"},
	}
	for i, name := range []string{"main", "HEAD", "."} {
		f.Arms = append(f.Arms, result.ABArm{
			Name: name, Program: result.Program{Command: []string{"prog", "-n", "a b"}, GoVersion: new("go1.26.8")},
			Source:  &result.Source{Revision: name, Commit: strings.Repeat("0a1b2c3d4e", 4), Dirty: i == 2, Package: "./cmd/prog"},
			Samples: arms[i].Samples, Summary: result.Summarize(arms[i].Samples),
		})
	}
	return f
}

func TestABGolden(t *testing.T) {
	f := abFile(t, "peak_rss>+10%", "wall<-10%", "peak_rss<-40MiB")
	var b bytes.Buffer
	if err := show(&b, f, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	golden(t, "ab.txt", b.Bytes())
	bench, err := gobench.Text(gobench.AB(f))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(bench, []byte("\nBenchmarkProg 1 ")); n != 3*f.Result.Rounds {
		t.Errorf("%d results of %d rounds of 3", n, f.Result.Rounds)
	}
	for _, want := range []string{"\narm: main\n", "\narm: HEAD\n", "\narm: .\n", "\ncommit: 0a1b2c3d4e"} {
		if !bytes.Contains(bench, []byte(want)) {
			t.Errorf("no %q in the benchmark format", want)
		}
	}
}

// A file that is read back shows what the result showed.
func TestABReadBack(t *testing.T) {
	f := abFile(t, "wall>+3%")
	data, err := f.JSON()
	if err != nil {
		t.Fatal(err)
	}
	back := &result.AB{}
	if err := json.Unmarshal(data, back); err != nil {
		t.Fatal(err)
	}
	if err := back.Check(); err != nil {
		t.Fatal(err)
	}
	var before, after bytes.Buffer
	if err := show(&before, f, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if err := show(&after, back, Options{Full: true}); err != nil {
		t.Fatal(err)
	}
	if before.String() != after.String() {
		t.Errorf("shown:\n%s\nread back:\n%s", &before, &after)
	}
	back.Result.Gates[0].Arm = 9
	if back.Check() == nil {
		t.Error("a gate of no arm is taken")
	}
	back.Arms[0].Samples[0] = nil
	back.Result = nil
	if back.Check() == nil {
		t.Error("a sample that is null is taken")
	}
}
