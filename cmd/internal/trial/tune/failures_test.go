package tune

import (
	"slices"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// Where the few settings that the budget had room for fail at once, what is left of it goes to
// the next ones; where none is left, the reason is said.
func TestGoesOnAfterFailures(t *testing.T) {
	fail := func(gogc ...string) func(trial.Setting) bool {
		return func(set trial.Setting) bool { return slices.Contains(gogc, set.GOGC) }
	}
	search := func(dies func(trial.Setting) bool, budget time.Duration, settings ...string) (*machine, *Result) {
		m := newMachine(1)
		m.cycles = func(set trial.Setting) int { return 10 + len(set.GOGC) }
		m.dies = dies
		opts := m.options(1)
		opts.Budget = budget
		for _, gogc := range settings {
			opts.settings = append(opts.settings, trial.Setting{GOGC: gogc})
		}
		return m, mustSearch(t, m, opts)
	}
	const budget = 29 * time.Second // room for two settings
	m, r := search(fail("25", "50", "200"), budget, "25", "50", "200", "800")
	if r.Answer.State == TooLittle || answerFor(r, Fastest).Arm.Name != "GOGC=800" && answerFor(r, Fastest).Arm.Name != "default" {
		t.Errorf("%s: %+v", r.Ended, r.Answer)
	}
	if spent := m.now.Sub(time.Unix(0, 0)); spent > budget {
		t.Errorf("took %v", spent)
	}
	if a := r.Arms[len(r.Arms)-1]; a.Name != "GOGC=800" || len(r.FinalSamples(a)) < 5 {
		t.Errorf("%s has %d runs in the final", a.Name, len(r.FinalSamples(a)))
	}
	_, r = search(fail("25", "50"), budget, "25", "50")
	if r.Answer.State != TooLittle || r.Ended != "no setting is left to compare with the default: 2 failed or broke a limit, for example GOGC=50: exit status 2" {
		t.Errorf("%s: %+v", r.Ended, r.Answer)
	}
	_, r = search(fail("25"), budget, "25")
	if r.Answer.State != TooLittle || r.Ended != "no setting is left to compare with the default: GOGC=25: exit status 2" {
		t.Errorf("%s: %+v", r.Ended, r.Answer)
	}
}

// Where the few settings that the budget had room for do what the default does, it goes to the
// next ones, too.
func TestGoesOnAfterTheSame(t *testing.T) {
	m := newMachine(1)
	m.cycles = func(trial.Setting) int { return 0 }
	opts := m.options(1)
	opts.Budget = 29 * time.Second // room for two settings
	for _, gogc := range []string{"400", "800"} {
		opts.settings = append(opts.settings, trial.Setting{GOGC: gogc})
	}
	r := mustSearch(t, m, opts)
	if a := r.Arms[len(r.Arms)-1]; r.Answer.State == TooLittle || a.Name == "GOGC=400" || len(r.FinalSamples(a)) < 5 {
		t.Errorf("%s: %+v; %s has %d runs in the final", r.Ended, r.Answer, a.Name, len(r.FinalSamples(a)))
	}
}

// If every setting that was tried does what the default does, that is the answer.
func TestEverySettingIsTheSame(t *testing.T) {
	m := newMachine(1)
	m.cycles = func(trial.Setting) int { return 1 }
	m.memory = func(trial.Setting) float64 { return 100 }
	opts := m.options(1)
	opts.settings = []trial.Setting{{GOGC: "200"}, {GOGC: trial.Off, MemLimit: 256 << 20}} // too near to say that GOGC does nothing
	r := mustSearch(t, m, opts)
	if r.Answer.State != NoEffect || answerFor(r, Fastest).Arm.Name != "default" || r.Answer.Inert == "" {
		t.Errorf("%s: %+v", r.Ended, r.Answer)
	}
}
