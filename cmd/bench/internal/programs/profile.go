package programs

import (
	"context"
	"errors"
	"os"

	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// Profiles for the compiler are as those of folio tune --pgo auto: so many samples, taken so
// often a second of CPU time.
const (
	profileSamples = 5000
	SampleRate     = 997
)

// Profile writes a profile for the compiler to a file, of runs that keep their samples,
// unless it is there.
func Profile(ctx context.Context, file string, run func() (*trial.Sample, error)) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	var taken [][]byte
	for total := uint64(0); total < profileSamples; {
		if err := ctx.Err(); err != nil {
			return err
		}
		s, err := run()
		if err != nil {
			return err
		}
		if s.Collected == nil || s.Profile == nil || s.Profile.Samples == 0 {
			return errors.New("it could not be sampled")
		}
		pprof, err := s.TakePprof()
		if err != nil {
			return err
		}
		taken, total = append(taken, pprof), total+s.Profile.Samples
	}
	data, _, err := build.MergePGO(taken)
	if err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o644)
}
