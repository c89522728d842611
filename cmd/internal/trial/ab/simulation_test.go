package ab

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
)

// A machine runs simulated programs. Its speed changes from trial to trial.
type machine struct {
	rng   *rand.Rand
	now   time.Time
	log   float64 // of its slowness
	model string
	trial int
}

// noise is the log of what the machine does to the next trial.
func (m *machine) noise() float64 {
	m.trial++
	switch m.model {
	case "quiet":
		return 0.01 * m.rng.NormFloat64()
	case "walk": // it gets slower and faster
		m.log += 0.02 * m.rng.NormFloat64()
		return m.log + 0.01*m.rng.NormFloat64()
	case "trend": // it heats up
		return 0.004*float64(m.trial) + 0.01*m.rng.NormFloat64()
	case "steps": // a neighbor comes and goes
		if m.rng.Float64() < 0.1 {
			m.log = 0.3 * m.rng.Float64()
		}
		return m.log + 0.01*m.rng.NormFloat64()
	case "spikes": // some trials are disturbed, and by a lot
		if m.rng.Float64() < 0.15 {
			return m.rng.ExpFloat64()
		}
		return 0.01 * m.rng.NormFloat64()
	}
	panic(m.model)
}

var models = []string{"quiet", "walk", "trend", "steps", "spikes"}

// A simulated program takes factor seconds on a machine that is at rest.
type simulated struct {
	m      *machine
	factor float64
}

func (s *simulated) Run(context.Context, trial.Setting, trial.Request) (*trial.Sample, error) {
	wall := s.factor * math.Exp(s.m.noise())
	s.m.now = s.m.now.Add(time.Duration(wall * float64(time.Second)))
	peak := uint64(64e6 * math.Exp(0.02*s.m.rng.NormFloat64()))
	cycles := 10 + s.m.rng.IntN(3)
	return &trial.Sample{Wall: wall, User: 0.9 * wall, Sys: 0.1 * wall, CPU: wall, PeakRSS: &peak,
		MinorFaults: int64(1000 + s.m.rng.IntN(20)), GCCycles: &cycles}, nil
}

// simulate compares programs that take these factors of a second.
func simulate(t *testing.T, model string, seed uint64, opts Options, factors ...float64) *Result {
	t.Helper()
	m := &machine{rng: rand.New(rand.NewPCG(seed, 1)), model: model}
	arms := make([]*trial.Arm, len(factors))
	for i, f := range factors {
		arms[i] = &trial.Arm{Runner: &simulated{m, f}}
	}
	if opts.Budget == 0 {
		opts.Budget = 5 * time.Minute
	}
	if opts.Detect == 0 {
		opts.Detect = 0.02
	}
	opts.Seed, opts.now = seed, func() time.Time { return m.now }
	r, err := Compare(t.Context(), arms, opts)
	if none := (&noRoundError{}); errors.As(err, &none) { // a run took all of the budget
		return &Result{Comparisons: make([]Comparison, len(factors)-1)}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// allowed is how many of n may go wrong with probability p before that is not a chance
// any more: three standard deviations.
func allowed(n int, p float64) int {
	return int(math.Floor(float64(n)*p + 3*math.Sqrt(float64(n)*p*(1-p))))
}

func runs(t *testing.T) int {
	if testing.Short() {
		return 200
	}
	return 1000
}

// Of two programs that are the same, at most one comparison in twenty finds a
// difference, whatever the machine does and whenever it stops.
func TestSameProgramsDoNotDiffer(t *testing.T) {
	for _, model := range models {
		t.Run(model, func(t *testing.T) {
			t.Parallel()
			n, primary, rest, rounds := runs(t), 0, 0, 0
			for seed := range n {
				r := simulate(t, model, uint64(seed), Options{Budget: time.Minute}, 1, 1)
				rounds += r.Rounds
				other := false
				for _, f := range r.Comparisons[0].Figures {
					switch {
					case !f.Different:
					case f.Primary:
						primary++
					default:
						other = true
					}
				}
				if other {
					rest++
				}
			}
			t.Logf(model+": %d comparisons, %.1f rounds each: %.1f%% found a difference in the metric, %.1f%% in another figure",
				n, float64(rounds)/float64(n), 100*float64(primary)/float64(n), 100*float64(rest)/float64(n))
			if most := allowed(n, stat.Alpha); primary > most || rest > most {
				t.Errorf("differences of the metric in %d of %d, of other figures in %d: want %d at most", primary, n, rest, most)
			}
		})
	}
}

// A difference of --detect is found in 8 of 10, where the budget allows.
func TestDifferencesAreFound(t *testing.T) {
	for _, x := range []struct {
		model string
		truth float64
		least float64 // part of the comparisons that must find it
	}{
		{"quiet", 0.02, 0.75}, {"quiet", 0.05, 0.99}, {"quiet", 0.5, 1}, {"steps", 0.5, 1}, {"walk", 2, 1},
		{"spikes", 1, 0.95}, {"walk", 0.02, 0.75}, {"walk", 0.05, 0.99}, {"trend", 0.02, 0.75}, {"steps", 0.05, 0.95},
	} {
		n, found, wrong, rounds, missed := runs(t)/4, 0, 0, 0, 0
		for seed := range n {
			r := simulate(t, x.model, uint64(seed), Options{}, 1, 1+x.truth)
			f := r.Comparisons[0].Find("wall_seconds")
			rounds += r.Rounds
			if f.Different {
				if found++; f.Difference < 0 {
					wrong++
				}
			}
			if f.RatioLo == nil || *f.RatioLo > 1+x.truth || *f.RatioHi < 1+x.truth {
				missed++
			}
		}
		t.Logf("%s, %+.0f%%: found in %d of %d, interval misses it in %d, %.1f rounds each", x.model, 100*x.truth,
			found, n, missed, float64(rounds)/float64(n))
		if float64(found) < x.least*float64(n) {
			t.Errorf("%s, %+.0f%%: found in %d of %d", x.model, 100*x.truth, found, n)
		}
		if wrong > 0 {
			t.Errorf("%s, %+.0f%%: %d times in the wrong direction", x.model, 100*x.truth, wrong)
		}
		if most := allowed(n, stat.Alpha); missed > most {
			t.Errorf("%s, %+.0f%%: the interval misses the truth in %d of %d, want %d at most", x.model, 100*x.truth, missed, n, most)
		}
	}
}

// A gate at the true difference fails in at most one of forty, and passes in as many:
// its interval is two-sided.
func TestGateAtTheTruth(t *testing.T) {
	bound, err := ParseBound("wall>+3%")
	if err != nil {
		t.Fatal(err)
	}
	for _, model := range models {
		n := runs(t) / 4
		count := make(map[Verdict]int)
		for seed := range n {
			r := simulate(t, model, uint64(seed), Options{Budget: time.Minute, Bounds: []Bound{bound}}, 1, 1.03)
			for _, g := range r.Gates {
				count[g.Verdict]++
			}
		}
		t.Logf("%s: %v", model, count)
		if most := allowed(n, stat.Alpha/2); count[Beyond] > most || count[Within] > most {
			t.Errorf("%s: %v of %d, want %d at most of either", model, count, n, most)
		}
	}
}

// With three arms the error is that of all together.
func TestSeveralArms(t *testing.T) {
	n, wrong := runs(t)/4, 0
	for seed := range n {
		r := simulate(t, "walk", uint64(seed), Options{Budget: time.Minute}, 1, 1, 1)
		for _, c := range r.Comparisons {
			if c.Find("wall_seconds").Different {
				wrong++
				break
			}
		}
	}
	if most := allowed(n, stat.Alpha); wrong > most {
		t.Errorf("%d of %d found a difference, want %d at most", wrong, n, most)
	}
}

// Against runs of one program after those of the other, as many, compared by the
// Mann-Whitney test (go test -count and benchstat): over all machines and truths the
// verdict is right at least as often.
func TestAgainstBlocks(t *testing.T) {
	ours, theirs := 0, 0
	for _, model := range models {
		for _, truth := range []float64{0, 0.02, 0.05} {
			n, a, b, rounds := runs(t)/5, 0, 0, 0
			for seed := range n {
				r := simulate(t, model, uint64(seed), Options{Budget: time.Minute}, 1, 1+truth)
				rounds += r.Rounds
				f := r.Comparisons[0].Find("wall_seconds")
				if f == nil {
					continue // nothing was compared: nobody is right
				}
				if f.Different == (truth > 0) && (truth == 0 || f.Difference > 0) {
					a++
				}
				m := &machine{rng: rand.New(rand.NewPCG(uint64(seed), 2)), model: model}
				var times [2][]float64
				for i, factor := range []float64{1, 1 + truth} {
					for range r.Rounds {
						s, _ := (&simulated{m, factor}).Run(t.Context(), trial.Setting{}, trial.Request{})
						times[i] = append(times[i], s.Wall)
					}
				}
				if c := stat.Compare(times[0], times[1]); c.Different == (truth > 0) && (truth == 0 || c.Ratio > 1) {
					b++
				}
			}
			t.Logf("%s, %+.0f%%: right %.0f%%, in blocks %.0f%%, %.0f rounds", model, 100*truth,
				100*float64(a)/float64(n), 100*float64(b)/float64(n), float64(rounds)/float64(n))
			ours, theirs = ours+a, theirs+b
		}
	}
	if ours < theirs {
		t.Errorf("right %d times, in blocks %d times", ours, theirs)
	}
}
