package tune

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// Variants run trials: of each setting the program that was built for it.
type Variants struct {
	*build.Set
	programs map[variant.Build]*trial.Program
}

// NewVariants returns the runner of a set of builds; p is the default's.
func NewVariants(set *build.Set, p *trial.Program) *Variants {
	return &Variants{set, map[variant.Build]*trial.Program{{}: p}}
}

// Run is that of [trial.Program].
func (v *Variants) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	p := v.programs[set.Build]
	if p == nil {
		base, b := v.programs[variant.Build{}], v.Program(set.Build)
		p = base.Of(append([]string{b.File}, base.Command[1:]...), b.Patched())
		v.programs[set.Build] = p
	}
	return p.Run(ctx, set, req)
}

// Builds are what a search needs of the builds.
func (v *Variants) Builds() Builds {
	profile, _ := v.Profile(variant.PGOAuto)
	out := Builds{Steps: v.Steps, Make: v.Make, Places: Places{Package: quoted(v.Source.Package), Profile: profile,
		Test: v.Source.Test, Experiments: v.Base.Experiment}}
	if v.Chooser != nil {
		out.Places.Toolchain = v.Chooser.Line
	}
	if !v.Source.Test && !v.Foreign {
		out.Places.Main = v.Dir
		if wd, err := os.Getwd(); err == nil {
			if rel, err := filepath.Rel(wd, v.Dir); err == nil && filepath.IsLocal(rel) {
				out.Places.Main = rel
			}
		}
	}
	return out
}

// quoted quotes each word of what --build takes.
func quoted(pkg string) string {
	words := strings.Fields(pkg)
	for i, w := range words {
		words[i] = trial.Quote(w)
	}
	return strings.Join(words, " ")
}

const (
	// profileSamples is how many samples of the CPU a profile for the compiler should have;
	// no run is added for them after profileTime.
	profileSamples = 5000
	profileTime    = 30 * time.Second
	profileRate    = 997 // a second
)

// Sample runs the default build under a setting, unless that was done, and makes the profile
// of pgo=auto of its samples, in dir. progress says how far it is; note what it is made of.
func (v *Variants) Sample(ctx context.Context, base trial.Setting, timeout time.Duration, progress func(string)) (note string, err error) {
	if _, hash := v.Profile(variant.PGOAuto); hash != "" {
		return "", nil
	}
	defer progress("")
	req := trial.Request{Profile: profileRate, Keep: trial.Keep{Samples: true}, Timeout: timeout}
	var taken [][]byte
	total := uint64(0)
	of := func() string {
		return fmt.Sprintf("%s of %s", unit.Plural(int(total), "sample"), unit.Plural(len(taken), "run"))
	}
	for began := time.Now(); total < profileSamples && (total == 0 || time.Since(began) < profileTime); {
		progress("pgo=auto: sampling the default build, " + of())
		s, err := v.Run(ctx, base, req)
		if ctx.Err() != nil {
			return "", ctx.Err()
		} else if err != nil {
			return "", err
		}
		if !s.OK() {
			return "", fmt.Errorf("--pgo auto: %w", Failure(s, 0))
		}
		if s.Collected == nil {
			break
		}
		pprof, err := s.TakePprof()
		if err != nil {
			return "", fmt.Errorf("--pgo auto: %w", err)
		}
		if s.Profile == nil || s.Profile.Samples == 0 {
			break
		}
		taken = append(taken, pprof)
		total += s.Profile.Samples
	}
	if len(taken) == 0 {
		return "", errors.New("--pgo auto: the program could not be sampled, or ends too early: give the file of a profile (see folio doctor, perf_event_paranoid)")
	}
	if err := v.KeepProfile(taken); err != nil {
		return "", fmt.Errorf("--pgo auto: %w", err)
	}
	return "pgo=auto: by " + of() + " of the default build", nil
}
