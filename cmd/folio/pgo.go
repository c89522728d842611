package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/program/build"
	"github.com/foliomem/folio/internal/program/variant"
	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/internal/trial/tune"
)

const (
	// profileSamples is how many samples of the CPU a profile for the compiler should have;
	// no run is added for them after profileTime.
	profileSamples = 5000
	profileTime    = 30 * time.Second
	profileRate    = 997 // a second
)

// sample runs the default build and makes the profile of pgo=auto of its samples.
func (v *variants) sample(ctx context.Context) error {
	if _, hash := v.Profile(variant.PGOAuto); hash != "" {
		return nil
	}
	progress := newProgress(v.a.stderr)
	defer progress.Clear()
	req := trial.Request{Profile: profileRate, Keep: trial.Keep{Samples: true}, Timeout: v.session.request.Timeout}
	var taken [][]byte
	total := uint64(0)
	for began := time.Now(); total < profileSamples && (total == 0 || time.Since(began) < profileTime); {
		progress.Show(fmt.Sprintf("pgo=auto: sampling the default build, %s of %s", unit.Plural(int(total), "sample"), unit.Plural(len(taken), "run")))
		s, err := v.session.program.Run(ctx, v.session.base, req)
		if ctx.Err() != nil {
			return ctx.Err()
		} else if err != nil {
			return err
		}
		if !s.OK() {
			return fmt.Errorf("--pgo auto: %w", tune.Failure(s))
		}
		if s.Collected == nil {
			break
		}
		var b bytes.Buffer
		err = s.Collected.WritePprof(&b, time.Duration(s.Span()*float64(time.Second)))
		s.Collected.Close()
		if err != nil {
			return fmt.Errorf("--pgo auto: %w", err)
		}
		if s.Profile == nil || s.Profile.Samples == 0 {
			break
		}
		taken = append(taken, b.Bytes())
		total += s.Profile.Samples
	}
	if len(taken) == 0 {
		return errors.New("--pgo auto: the program could not be sampled, or ends too early: give the file of a profile (see folio doctor, perf_event_paranoid)")
	}
	data, hash, err := build.MergePGO(taken)
	if err != nil {
		return fmt.Errorf("--pgo auto: %w", err)
	}
	dir, err := scratch.Cache(profiles)
	if err != nil {
		return err
	}
	file := filepath.Join(dir, hash[:16]+".pgo")
	if err := scratch.WriteFile(file, data); err != nil {
		return fmt.Errorf("--pgo auto: keep the profile: %w", err)
	}
	v.SetProfile(variant.PGOAuto, file, hash)
	v.session.notes = append(v.session.notes, fmt.Sprintf("pgo=auto: by %s of %s of the default build", unit.Plural(int(total), "sample"), unit.Plural(len(taken), "run")))
	return nil
}
