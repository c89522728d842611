package live

import (
	"context"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
)

// A simulated process is under a load that changes all the time, by waves, steps and trends, and
// whose figures are noisy.
type simulated struct {
	rng   *rand.Rand
	now   time.Time
	kind  uint64
	noise float64
	level float64
	gain  float64 // the part of CPU time that the GC takes at GOGC=100
}

func newSimulated(seed uint64, gain float64) *simulated {
	rng := rand.New(rand.NewPCG(seed, 7))
	return &simulated{rng: rng, now: time.Unix(0, 0), kind: seed % 4, noise: 0.01 + 0.07*rng.Float64(), level: 1, gain: gain}
}

// load is how dear a GiB is now.
func (s *simulated) load() float64 {
	t := s.now.Sub(time.Unix(0, 0)).Seconds()
	out := 1.0
	if s.kind == 0 || s.kind == 3 {
		out *= 1 + 0.3*math.Sin(t/60)
	}
	if s.kind == 1 || s.kind == 3 {
		if s.rng.Float64() < 0.1 {
			s.level = 0.6 + s.rng.Float64()
		}
		out *= s.level
	}
	if s.kind == 2 {
		out *= 1 + t/600
	}
	return out
}

func (s *simulated) Run(ctx context.Context, set trial.Setting, _ trial.Request) (*trial.Sample, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	percent := 100.0
	if set.GOGC != "" {
		percent, _ = strconv.ParseFloat(set.GOGC, 64)
	}
	s.now = s.now.Add(time.Duration((11 + 3*s.rng.Float64()) * float64(time.Second)))
	// Student's distribution with three degrees of freedom: outliers are not rare.
	chi := 0.0
	for range 3 {
		x := s.rng.NormFloat64()
		chi += x * x
	}
	cost := (1 - s.gain + s.gain*100/percent) * s.load() * math.Exp(s.noise*s.rng.NormFloat64()/math.Sqrt(chi/3))
	return &trial.Sample{Wall: 10, CPU: 10 * cost, PeakRSS: new(uint64(100<<20 + percent*(1<<20))), PeakRSSSource: trial.Sampled,
		MinorFaults: 100, GCCounted: trial.GCComplete, GCCycles: new(int(100_000 / percent)), Metrics: map[string]float64{metric.CPUPerGiB: cost}}, nil
}

func (s *simulated) search(t *testing.T, seed uint64) *tune.Result {
	t.Helper()
	o := tune.Options{Metric: &metric.Spec{Name: metric.CPUPerGiB}, Budget: 15 * time.Minute, Seed: seed, Now: func() time.Time { return s.now }}
	r, err := tune.Search(t.Context(), s, of(o, &Record{PID: 1, GOGC: "100"}, tune.Levels(levels, 0)))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Of a process for which the GC does not matter, at most one search in twenty recommends a
// setting, however its load changes; and the search keeps within its budget.
func TestNothingIsRecommended(t *testing.T) {
	const searches = 600
	wrong := 0
	for seed := range uint64(searches) {
		s := newSimulated(seed, 0)
		r := s.search(t, seed)
		if len(r.Arms) != 1+len(levels) || r.Answer.State == tune.TooLittle || len(r.Answer.Recommended) == 0 {
			t.Fatalf("seed %d: %d settings, %+v", seed, len(r.Arms), r.Answer)
		}
		if r.Answer.Recommended[0].Arm != r.Arms[0] {
			wrong++
		}
		if r.Elapsed > 15*time.Minute+15*time.Second {
			t.Errorf("seed %d: it took %v", seed, r.Elapsed)
		}
	}
	t.Logf("%d of %d searches recommend a setting", wrong, searches)
	if wrong > searches/20 {
		t.Errorf("%d of %d searches recommend a setting", wrong, searches)
	}
}

// Of one whose GC takes a fifth of its CPU time, nearly all do.
func TestDifferencesAreFound(t *testing.T) {
	const searches = 100
	found := 0
	for seed := range uint64(searches) {
		r := newSimulated(seed, 0.2).search(t, seed)
		if a := r.Answer.Recommended[0].Arm; a != r.Arms[0] && a.Setting.GOGC != "" {
			found++
		}
	}
	t.Logf("%d of %d searches recommend a setting", found, searches)
	if found < searches*9/10 {
		t.Errorf("%d of %d searches find it", found, searches)
	}
}
