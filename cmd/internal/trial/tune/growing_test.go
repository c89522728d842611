package tune

import (
	"context"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// A growing server is one whose loads end before the heap is as large as GOGC allows: above
// GOGC=100 there is no GC cycle, and memory is what it had come to.
type growing struct{ *simulated }

func (g growing) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	out, err := g.simulated.Run(ctx, set, req)
	if err == nil && set.GOGC != "" && (set.GOGC == trial.Off || level(set) > 100) {
		sofar := uint64(80 << 20)
		out.Growing, out.PeakRSS, out.PeakTreeRSS = true, &sofar, &sofar
	}
	return out, err
}

// Memory that was still growing is never less, whatever was measured: not in a ratio, nor does
// it decide what is recommended.
func TestGrowingMemoryIsNotLess(t *testing.T) {
	recommended := 0
	for seed := range uint64(20) {
		g := growing{newSimulated(seed)}
		opts := g.options()
		opts.Seed = seed
		res, err := Search(t.Context(), g, opts)
		if err != nil {
			t.Fatal(err)
		}
		for i, rec := range res.Answer.Recommended {
			grows := trial.Growing(rec.Arm.Samples)
			if i > 0 && grows || rec.Saves != nil && trial.Growing(rec.Saves.Arm.Samples) {
				t.Errorf("seed %d: %s is recommended for its memory, or to save some: %+v", seed, rec.Arm.Name, rec)
			}
			if i == 0 && grows {
				recommended++
			}
		}
		for _, a := range res.Arms[1:] {
			if f := a.Final; f != nil && trial.Growing(a.Samples) && f.MemoryRatio != nil && f.MemoryRatio.Ratio < 1 {
				t.Errorf("seed %d: %s: memory %+v", seed, a.Name, f.MemoryRatio)
			}
		}
	}
	if recommended == 0 {
		t.Error("no search recommends a setting whose memory was still growing: nothing was tested")
	}
}
