package tune

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/program/variant"
	"github.com/foliomem/folio/internal/trial"
)

// A search that did not try all settings is not conclusive, whatever its final shows; it says
// how many there were, and the budget that has room for all.
func TestUntriedSettingsAreInconclusive(t *testing.T) {
	for _, tt := range []struct {
		name   string
		budget time.Duration
		with   func(*Options)
		want   string
	}{
		{"a final of two", 40 * time.Second, nil, "--budget "},
		{"a race", 2 * time.Minute, nil, "--budget "},
		{"bounded rounds", 40 * time.Second, func(o *Options) { o.MaxRounds = 2 }, "--rounds 10 --budget "},
		{"builds alone", 40 * time.Second, func(o *Options) {
			o.Builds = Builds{Steps: []variant.Build{{AMD64: "v3"}}, Make: func(context.Context, variant.Build) (string, error) { return "", nil }}
		}, "--budget "},
	} {
		s := newSimulated(2)
		s.noise = 0.0005
		opts := s.options()
		opts.Budget = tt.budget
		if tt.with != nil {
			tt.with(&opts)
		}
		res, err := Search(t.Context(), s, opts)
		if err != nil {
			t.Fatal(err)
		}
		a := res.Answer
		if a.State != Inconclusive || a.Untried < 1 || a.Missing <= 0 || !strings.HasPrefix(a.Try, tt.want) || res.Ended == "conclusive" {
			t.Fatalf("%s: ended %q, %+v", tt.name, res.Ended, a)
		}
		if note := fmt.Sprintf("%d of ", a.Untried); !slices.ContainsFunc(res.Notes, func(n string) bool {
			return strings.HasPrefix(n, note) && strings.Contains(n, "settings were not tried")
		}) {
			t.Errorf("%s: %d untried, and notes %q", tt.name, a.Untried, res.Notes)
		}
		_, budget, _ := strings.Cut(a.Try, "--budget ")
		again := newSimulated(3)
		again.noise = s.noise
		more := again.options()
		if tt.with != nil {
			tt.with(&more)
		}
		if more.Budget, err = time.ParseDuration(budget); err != nil {
			t.Fatal(err)
		}
		if more.MaxRounds > 0 {
			more.MaxRounds = finalRounds
		}
		res, err = Search(t.Context(), again, more)
		if err != nil {
			t.Fatal(err)
		}
		if res.Answer.Untried != 0 {
			t.Errorf("%s: with %s %d settings were not tried either", tt.name, a.Try, res.Answer.Untried)
		}
	}
}

// Levels of what changes nothing need not be tried.
func TestUntriedAndInert(t *testing.T) {
	arm := &Arm{Arm: trial.NewArm(trial.Setting{})}
	arm.Samples = []*trial.Sample{{}}
	s := &search{res: &Result{Arms: []*Arm{arm}}, untried: []trial.Setting{
		{GOGC: "400"}, {GOGC: trial.Off, MemLimit: 1 << 30}, {GOGC: "400", THP: trial.THPHeap}}}
	for _, tt := range []struct {
		gogc, limit bool
		want        int
	}{{false, false, 3}, {true, false, 2}, {false, true, 2}, {true, true, 1}} {
		s.inertGOGC, s.inertLimit = tt.gogc, tt.limit
		if got := s.missed(); got != tt.want {
			t.Errorf("inert %v, %v: %d, want %d", tt.gogc, tt.limit, got, tt.want)
		}
	}
}
