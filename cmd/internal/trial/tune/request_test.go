package tune

import (
	"context"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// All arms of the final are sampled in the same rounds, often enough for a test, and
// none in the race.
func TestArmsAreSampledAlike(t *testing.T) {
	for _, rounds := range []int{0, 10, 25} {
		m := collecting(3, 50, 4000)
		opts := m.options(3)
		opts.MaxRounds = rounds
		opts.Request = trial.Request{Profile: 99, KeepSeries: true, Delays: true}
		in := make(map[*Arm][]int)
		var now Progress
		opts.Progress = func(p Progress) {
			now = p
			if p.Sample == nil && p.Sampled {
				if p.Stage != InFinal {
					t.Errorf("a run in the %s is sampled", p.Stage)
				}
				in[p.Arm] = append(in[p.Arm], p.Round)
			}
		}
		asking := runnerFunc(func(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
			counts := now.Stage != InWarmup
			if (req.Profile > 0) != now.Sampled || req.KeepSeries != counts || req.Delays != counts {
				t.Errorf("a run in the %s, sampled %v, asks for %+v", now.Stage, now.Sampled, req)
			}
			return m.Run(ctx, set, req)
		})
		r, err := Search(t.Context(), asking, opts)
		if err != nil {
			t.Fatal(err)
		}
		contradictions(t, t.Name(), r)
		for _, a := range r.Arms {
			if a.Final == nil {
				continue
			}
			if !slices.Equal(in[a], in[r.Arms[0]]) || len(in[a]) != taxRounds {
				t.Errorf("%s is sampled in rounds %v, the default in %v", a.Name, in[a], in[r.Arms[0]])
			}
			if a.Final.N < finalRounds {
				t.Errorf("%s has %d runs in the final", a.Name, a.Final.N)
			}
		}
	}
}

// What a command starts is looked for in the warm-up, whatever the others sample.
func TestWarmupIsSampled(t *testing.T) {
	for _, c := range []struct {
		rate, warmup int
		watch        bool
	}{{0, 0, false}, {499, 0, false}, {0, 1, true}, {499, 499, true}} {
		m := collecting(3, 50, 4000)
		opts := m.options(3)
		opts.Request.Profile, opts.SampleWarmup = c.rate, c.watch
		var now Progress
		opts.Progress = func(p Progress) { now = p }
		asking := runnerFunc(func(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
			want := 0
			switch {
			case now.Stage == InWarmup:
				want = c.warmup
			case now.Sampled:
				want = c.rate
			}
			if req.Profile != want {
				t.Errorf("%+v: a run in the %s, sampled %v, is sampled at %d Hz", c, now.Stage, now.Sampled, req.Profile)
			}
			return m.Run(ctx, set, req)
		})
		if _, err := Search(t.Context(), asking, opts); err != nil {
			t.Fatal(err)
		}
	}
}
