package tune

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/variant"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
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
			return strings.HasPrefix(n, note) && strings.Contains(n, "settings not tried")
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

// A metric that is never more than 0 ends the search at once: no budget helps.
func TestMetricOfZero(t *testing.T) {
	for value, want := range map[float64]string{0: "n is 0 in every run of the default", -3: "n is less than 0 in every run of the default"} {
		s := newSimulated(1)
		opts := s.options()
		opts.Metric = &metric.Spec{Name: "n", Pattern: regexp.MustCompile("n=([0-9]+)")}
		res, err := Search(t.Context(), constant{s, value}, opts)
		if err == nil || !strings.HasPrefix(err.Error(), want+": ") || !strings.Contains(err.Error(), "--metric") || res.Ended != want || res.Answer.State != TooLittle {
			t.Errorf("%v: %v, ended %q with %+v", value, err, res.Ended, res.Answer)
		}
		if n := len(res.Arms[0].Samples); n != fewRounds {
			t.Errorf("%v: %d runs of the default", value, n)
		}
	}
}

type constant struct {
	trial.Runner
	n float64
}

func (c constant) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	s, err := c.Runner.Run(ctx, set, req)
	if err == nil {
		s.Metrics = map[string]float64{"n": c.n}
	}
	return s, err
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
