package tune

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

// Builds of the tests.
var (
	newGo   = variant.Build{Go: "go1.27.4"}
	oldGo   = variant.Build{Go: "go1.25.14"}
	byPGO   = variant.Build{PGO: variant.PGOAuto}
	level3  = variant.Build{AMD64: "v3"}
	noGreen = variant.Build{Experiments: "nogreenteagc"}
)

// A factory builds simulated programs, which takes a while.
type factory struct {
	s     *simulated
	made  []variant.Build
	fails map[variant.Build]string
}

func (f *factory) builds(steps ...variant.Build) Builds {
	return Builds{Steps: steps, Make: func(ctx context.Context, b variant.Build) (string, error) {
		if !slices.Contains(f.made, b) {
			f.made = append(f.made, b)
			f.s.now = f.s.now.Add(10 * time.Minute)
		}
		return f.fails[b], ctx.Err()
	}}
}

// effects are what builds do to a simulated program.
var effects = map[string]func(b variant.Build) (work, gc float64){
	"alone and together": func(b variant.Build) (work, gc float64) {
		work, gc = 1, 1
		for step, x := range map[variant.Build][2]float64{newGo: {0.95, 0.9}, oldGo: {1.04, 1}, byPGO: {0.92, 1}, level3: {1, 1}, noGreen: {1, 1.4}} {
			if b.Has(step) {
				work, gc = work*x[0], gc*x[1]
			}
		}
		return work, gc
	},
	"not together": func(b variant.Build) (work, gc float64) {
		switch {
		case b.Has(newGo) && b.Has(byPGO):
			return 1.02, 1
		case b.Has(byPGO):
			return 0.9, 1
		case b.Has(newGo):
			return 0.94, 1
		}
		return 1, 1
	},
	"of the GC only": func(b variant.Build) (work, gc float64) {
		if b.Has(noGreen) {
			return 1, 0.5
		}
		return 1, 1
	},
	"nothing": func(variant.Build) (work, gc float64) { return 1, 1 },
}

// The promise of the search holds with builds: within 3% of the best of all builds with all
// settings, in a fraction of the grid's time.
func TestSearchBuildsAgainstGrid(t *testing.T) {
	testenv.Long(t)
	steps := []variant.Build{newGo, oldGo, byPGO, level3, noGreen}
	for name, effect := range effects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			seeds := testenv.Some(10, 20)
			missed, wrong, unknown, intervals := 0, 0, 0, 0
			var off, part []float64 // of the best, and of the time of a grid of ten rounds
			for seed := range uint64(seeds) {
				g := newSimulated(seed)
				g.built = effect
				opts := g.options()
				opts.Exhaustive, opts.MaxRounds, opts.Builds = true, 1, (&factory{s: g}).builds(steps...)
				grid, err := Search(t.Context(), g, opts)
				if err != nil {
					t.Fatal(err)
				}
				if n := len(variant.Combinations(steps)) * 16; len(grid.Arms) < n {
					t.Fatalf("the grid has %d settings, want %d or more", len(grid.Arms), n)
				}
				s := newSimulated(seed + 1000)
				s.built = effect
				opts = s.options()
				f := &factory{s: s}
				opts.Seed, opts.Builds = seed, f.builds(steps...)
				res, err := Search(t.Context(), s, opts)
				if err != nil {
					t.Fatal(err)
				}
				contradictions(t, name, res)
				fast, best := answerFor(res, Fastest), bestTruth(g, grid.Arms)
				w, _ := s.truth(fast.Arm.Setting)
				off, part = append(off, w/best), append(part, s.spent.Seconds()/(10*g.spent.Seconds()))
				if w > 1.03*best {
					missed++
					t.Logf("seed %d: %s is %.1f%% off the best", seed, fast.Arm.Name, 100*(w/best-1))
				}
				if s.spent > 2*g.spent { // the final has ten rounds and more
					t.Errorf("seed %d: took %v, one round of the grid %v", seed, s.spent, g.spent)
				}
				if len(f.made) > len(steps)+1 {
					t.Errorf("seed %d: %d builds: %v", seed, len(f.made), f.made)
				}
				if res.Elapsed > opts.Budget {
					t.Errorf("seed %d: %v, builds aside, of a budget of %v", seed, res.Elapsed, opts.Budget)
				}
				if len(res.Answer.Steps) < len(steps) {
					t.Fatalf("seed %d: %+v", seed, res.Answer.Steps)
				}
				for i, st := range res.Answer.Steps {
					if i < len(steps) && (st.What != steps[i].String() || st.In != fast.Arm.Setting.Build.Has(steps[i])) {
						t.Errorf("seed %d: step %d is %+v, of %s", seed, i, st, fast.Arm.Name)
					}
					if st.Alone == nil || st.Alone.Lo == nil {
						unknown++
						t.Logf("seed %d: it is not known what %s gives alone", seed, st.What)
						continue
					}
					alone := fast.Arm.Setting
					if alone.Build = (variant.Build{}); i < len(steps) {
						alone = trial.Setting{Build: steps[i]}
					}
					w, _ := s.truth(alone)
					base, _ := s.truth(trial.Setting{})
					intervals++
					if w/base < *st.Alone.Lo || w/base > *st.Alone.Hi {
						wrong++
						t.Logf("seed %d: %s alone: %.3f, said [%.3f, %.3f]", seed, st.What, w/base, *st.Alone.Lo, *st.Alone.Hi)
					}
				}
			}
			t.Logf("%d searches: answers %.3fx of the grid's best in the median, %.3fx at most; %.1f%% of the time of ten rounds of the grid, %.1f%% at most; %d of %d intervals wrong",
				seeds, stat.Median(off), slices.Max(off), 100*stat.Median(part), 100*slices.Max(part), wrong, intervals)
			if missed > seeds/20 {
				t.Errorf("%d of %d missed the 3%%", missed, seeds)
			}
			if unknown > seeds/10 { // what is recommended may change at the last look
				t.Errorf("%d steps are not known", unknown)
			}
			if wrong > seeds*(len(steps)+1)/20 {
				t.Errorf("%d intervals of %d are wrong", wrong, seeds*(len(steps)+1))
			}
		})
	}
}

// A build that fails is an arm that failed, with the reason; the search goes on without
// it, and combines the others.
func TestBuildFails(t *testing.T) {
	const why = "main.go:3:8: undefined: x"
	s := newSimulated(1)
	s.built = effects["alone and together"]
	f := &factory{s: s, fails: map[variant.Build]string{newGo: why}}
	opts := s.options()
	opts.Builds = f.builds(newGo, byPGO, level3)
	r, err := Search(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(r.Arms, func(a *Arm) bool { return a.Name == "go1.27.4" })
	if i < 0 || r.Arms[i].Status != Failed || r.Arms[i].Reason != why || !r.Arms[i].Unbuilt || len(r.Arms[i].Samples) > 0 {
		t.Fatalf("%+v", r.Arms)
	}
	if st := r.Answer.Steps[0]; st.Failed != why || st.Alone != nil || st.In {
		t.Errorf("%+v", st)
	}
	if b := answerFor(r, Fastest).Arm.Setting.Build; b != byPGO {
		t.Errorf("%v is recommended", b)
	}
}

// Where the winners cannot be built together, the search goes on with less of them, and
// says so.
func TestCombinationFails(t *testing.T) {
	s := newSimulated(1)
	s.built = effects["alone and together"]
	both := newGo.With(byPGO)
	f := &factory{s: s, fails: map[variant.Build]string{both: "internal compiler error"}}
	opts := s.options()
	opts.Builds = f.builds(newGo, byPGO)
	r, err := Search(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Notes, func(n string) bool { return strings.Contains(n, "go1.27.4 pgo=auto: internal compiler error") }) {
		t.Errorf("%q", r.Notes)
	}
	if b := answerFor(r, Fastest).Arm.Setting.Build; b != byPGO && b != newGo {
		t.Errorf("%v is recommended", b)
	}
}

// A budget that has no room for all compares the builds alone.
func TestBuildsWithLittleBudget(t *testing.T) {
	s := newSimulated(1)
	s.built = effects["alone and together"]
	opts := s.options()
	opts.Budget = 45 * time.Second
	opts.Builds = (&factory{s: s}).builds(newGo, byPGO)
	r, err := Search(t.Context(), s, opts)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Arms {
		if a.Setting.GOGC != "" {
			t.Errorf("%s was tried", a.Name)
		}
	}
	for _, st := range r.Answer.Steps {
		if st.Alone == nil {
			t.Errorf("%+v", st)
		}
	}
	if math.Abs(opts.Budget.Seconds()-r.Elapsed.Seconds()) > 15 {
		t.Errorf("took %v", r.Elapsed)
	}
}
