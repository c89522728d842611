package tune

import (
	"context"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/test/testenv"
)

// collecting is a program with so much live memory that allocates so much, in MiB: it
// takes a second, and the GC as many seconds as it has cycles, divided by 100.
func collecting(seed uint64, live, alloc float64) *machine {
	m := newMachine(seed)
	m.noise = 0.01
	heap := func(set trial.Setting) float64 {
		out := live * (1 + float64(level(set))/100)
		if set.GOGC == trial.Off {
			out = math.Inf(1)
		}
		if set.MemLimit > 0 {
			out = min(out, max(float64(set.MemLimit>>20)*0.95, live*1.05))
		}
		return min(out, live+alloc)
	}
	m.cycles = func(set trial.Setting) int { return int(math.Ceil(alloc/(heap(set)-live)-1e-9)) - 1 }
	m.memory = heap
	m.cost = func(set trial.Setting) float64 { return 1 + 0.01*float64(m.cycles(set)) }
	return m
}

func mustSearch(t *testing.T, m *machine, opts Options) *Result {
	t.Helper()
	r, err := Search(t.Context(), m, opts)
	if err != nil {
		t.Fatal(err)
	}
	contradictions(t, t.Name(), r)
	return r
}

// A program that sets its GC itself is not raced, and nothing is recommended for it:
// the settings change nothing, which the first round shows.
func TestSettingsThatChangeNothing(t *testing.T) {
	for _, tt := range []struct {
		name   string
		cycles int
		want   string
	}{
		{"own percentage", 40, "GOGC and GOMEMLIMIT change nothing: 40 GC cycles and 100 MiB under every value tried; the program sets them itself"},
		{"GC off", 0, "GOGC and GOMEMLIMIT change nothing: no GC cycle and 100 MiB under every value tried; the program turns the GC off itself"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for seed := range uint64(50) {
				m := newMachine(seed)
				m.cycles = func(trial.Setting) int { return tt.cycles }
				r := mustSearch(t, m, m.options(seed))
				if m.trials > 1+len(r.Arms) || r.Rounds != 1 || r.Answer.State != NoEffect {
					t.Fatalf("%d trials of %d settings, %d rounds: %s", m.trials, len(r.Arms), r.Rounds, r.Answer.State)
				}
				if recs := r.Answer.Recommended; len(recs) != 1 || recs[0].Arm != r.Arms[0] ||
					!strings.HasPrefix(r.Answer.Inert, strings.Replace(tt.want, "100 MiB", "", 1)[:30]) {
					t.Fatalf("%+v", r.Answer)
				}
				for _, a := range r.Arms[1:] {
					if a.Status != Same {
						t.Fatalf("%s is %s", a.Name, a.Status)
					}
				}
			}
		})
	}
}

// So it is where the budget has no room for a race, and where no other setting
// survives.
func TestNothingIsLeftToCompare(t *testing.T) {
	m := newMachine(1)
	m.cycles = func(trial.Setting) int { return 40 }
	opts := m.options(1)
	opts.Budget = 50 * time.Second
	opts.settings = []trial.Setting{{GOGC: "25"}, {GOGC: "800"}}
	if r := mustSearch(t, m, opts); r.Answer.State != NoEffect || m.trials != 4 {
		t.Errorf("%d trials: %+v", m.trials, r.Answer)
	}
	m = newMachine(1)
	m.hangs = func(set trial.Setting) bool { return !set.IsZero() }
	r := mustSearch(t, m, m.options(1))
	if r.Answer.State != TooLittle || !regexp.MustCompile(`^no setting is left to compare with the default: \d+ failed or broke a limit, for example GOGC=\S+: took longer than`).MatchString(r.Ended) {
		t.Errorf("%s: %+v", r.Ended, r.Answer)
	}
}

// What else can be tried is, of a program that sets its GC itself.
func TestOnlyGCChangesNothing(t *testing.T) {
	m := newMachine(1)
	m.cycles = func(trial.Setting) int { return 40 }
	m.cost = func(set trial.Setting) float64 {
		return map[int]float64{1: 0.6}[set.GOMAXPROCS] + map[int]float64{0: 1, 4: 1.5}[set.GOMAXPROCS]
	}
	opts := m.options(1)
	opts.Try = procs(1, 4)
	r := mustSearch(t, m, opts)
	if rec := answerFor(r, Fastest); rec.Arm.Name != "GOMAXPROCS=1" || r.Inert == "" {
		t.Errorf("%s is recommended: %q", rec.Arm.Name, r.Inert)
	}
	for _, a := range r.Arms {
		if a.Final != nil && a.Setting.GOGC != "" {
			t.Errorf("%s is in the final", a.Name)
		}
	}
}

// A program whose children collect, and throw their traces away, shows no GC cycle
// itself. Its memory or its page faults say that GOGC does something.
func TestChildrenCollect(t *testing.T) {
	for name, set := range map[string]func(*machine){
		"memory": func(m *machine) { m.memory = func(set trial.Setting) float64 { return 100 + float64(level(set))/4 } },
		"faults": func(m *machine) {
			m.faults = func(set trial.Setting) float64 { return 20_000 - float64(min(level(set), 1000))*5 }
		},
	} {
		m := newMachine(1)
		m.cycles = func(trial.Setting) int { return 0 }
		set(m)
		if r := mustSearch(t, m, m.options(1)); r.Inert != "" || r.Answer.State == NoEffect {
			t.Errorf("%s: %q", name, r.Inert)
		}
	}
}

// Few cycles, or as many by chance, are not evidence.
func TestLittleEvidence(t *testing.T) {
	for name, cycles := range map[string]func(trial.Setting) int{
		"few":     func(trial.Setting) int { return 2 },
		"differ":  func(s trial.Setting) int { return 4000/(50+level(s)) + int(s.MemLimit>>24) },
		"unknown": nil,
	} {
		m := newMachine(2)
		m.cycles = cycles
		if r := mustSearch(t, m, m.options(2)); r.Inert != "" || r.RaceRounds < 2 {
			t.Errorf("%s: %q after %d rounds", name, r.Inert, r.RaceRounds)
		}
	}
}

// Limits that a program never reaches are one setting, not five; and nobody is told
// to let a program of 90 MiB grow to all memory there is.
func TestNoGiantLimit(t *testing.T) {
	testenv.Alone(t)
	for seed := range uint64(40) {
		m := collecting(seed, 10, 80)
		opts := m.options(seed)
		opts.SafeMemory = 16 << 30
		r := mustSearch(t, m, opts)
		never := 0
		for _, a := range r.Arms {
			if a.Final != nil && m.cycles(a.Setting) == 0 {
				never++
			}
		}
		if never > 1 {
			t.Errorf("seed %d: %d settings without a GC cycle in the final", seed, never)
		}
		for _, rec := range r.Answer.Recommended {
			if limit := rec.Arm.Setting.MemLimit; limit > 256<<20 {
				t.Errorf("seed %d: %s: %s is recommended to a program of 90 MiB", seed, rec.Goal, rec.Arm.Name)
			}
		}
		if rec := answerFor(r, Fastest); rec.Arm == r.Arms[0] {
			t.Errorf("seed %d: nothing is recommended", seed)
		}
	}
}

// Without the GC's figures a giant limit is in the final; a modest one that ties with
// it is taken.
func TestModestLimitFirst(t *testing.T) {
	testenv.Alone(t)
	for seed := range uint64(40) {
		m := collecting(seed, 10, 80)
		m.cycles, m.noise = nil, 0.03
		m.cost = func(set trial.Setting) float64 { return map[bool]float64{true: 0.7, false: 1}[set.GOGC == trial.Off] }
		opts := m.options(seed)
		opts.SafeMemory = 16 << 30
		r := mustSearch(t, m, opts)
		rec := answerFor(r, Fastest)
		if rec.Arm.Setting.GOGC != trial.Off || giant(rec.Arm) {
			t.Errorf("seed %d: %s is recommended", seed, rec.Arm.Name)
		}
	}
}

// A setting that is 3.2 times slower is said to be, coarsely: two runs cannot be
// tested.
func TestSlowSettingsAreSaidToBe(t *testing.T) {
	said := 0
	for seed := range uint64(40) {
		m := newMachine(seed)
		m.noise = 0.03
		m.cost = func(set trial.Setting) float64 { return map[bool]float64{true: 3.2, false: 1}[set.GOGC == "25"] }
		r := mustSearch(t, m, m.options(seed))
		for _, a := range r.Arms {
			switch {
			case a.Setting.GOGC != "25":
				if a.Left != nil && a.Left.AtLeast > 0 {
					t.Errorf("seed %d: %s is called at least %v times as slow", seed, a.Name, a.Left.AtLeast)
				}
			case a.Left == nil || a.Left.AtLeast > 3:
				t.Errorf("seed %d: %s: %+v", seed, a.Name, a.Left)
			case a.Left.AtLeast >= 1.25 && a.Left.SlowerThan == "default":
				said++
			}
		}
	}
	if said < 36 {
		t.Errorf("said in %d of 40 searches", said)
	}
}

// 268 against 517 requests a second in four runs each: that is not proof, and no
// reason to say that the default is the fastest.
func TestFourRoundsAreNotSettled(t *testing.T) {
	m := newMachine(1)
	m.noise = 0.05
	m.cost = func(set trial.Setting) float64 {
		if set.IsZero() {
			return 1000. / 268
		}
		return 1000. / 517
	}
	spec, err := metric.Parse("op/s=([0-9.]+)", true)
	if err != nil {
		t.Fatal(err)
	}
	opts := m.options(1)
	opts.Metric, opts.MaxRounds = spec, 4
	r := mustSearch(t, m, opts)
	if a := r.Answer; a.State != Inconclusive || a.Missing <= 0 || a.Rounds < finalRounds-4 || !strings.HasPrefix(a.Try, "--rounds ") {
		t.Errorf("%+v", a)
	}
	for _, a := range r.Arms {
		if a.Final != nil && a.Final.Ratio != nil && a.Final.Ratio.Different {
			t.Errorf("%s differs after four rounds: %+v", a.Name, a.Final.Ratio)
		}
	}
	// The budget, not the rounds: it says by how much to raise it.
	m = newMachine(1)
	m.noise, m.kind = 0.05, 4
	m.cost = func(set trial.Setting) float64 { return map[bool]float64{true: 3.7, false: 1.9}[set.IsZero()] }
	opts = m.options(1)
	opts.Metric, opts.Budget = spec, 30*time.Second
	r = mustSearch(t, m, opts)
	if a := r.Answer; a.State != Inconclusive || !strings.HasPrefix(a.Try, "--budget ") || r.Ended != errBudget.Error() {
		t.Errorf("%s: %+v", r.Ended, a)
	}
	d, err := time.ParseDuration(strings.TrimPrefix(r.Answer.Try, "--budget "))
	if err != nil || d <= opts.Budget {
		t.Errorf("try %q: %v", r.Answer.Try, err)
	}
	// What it asks for is enough.
	m.now, m.trials, opts.Budget = time.Unix(0, 0), 0, d
	if r = mustSearch(t, m, opts); answerFor(r, Fastest).Arm == r.Arms[0] {
		t.Errorf("with --budget %v: %+v", d, r.Answer)
	}
}

// The final has samples of its own: what the race saw, which chose the arms by it,
// does not count.
func TestFinalHasFreshSamples(t *testing.T) {
	m := newMachine(4)
	m.kind, m.noise = 4, 0.01
	race := true
	m.cost = func(set trial.Setting) float64 {
		if race && set.GOGC == "800" {
			return 0.5
		}
		return 1
	}
	opts := m.options(4)
	opts.Partial = func(r *Result) { race = r.Stage == InRace && race }
	opts.Progress = func(p Progress) { race = race && p.Stage != InFinal }
	r := mustSearch(t, m, opts)
	for _, a := range r.Arms {
		if a.Final != nil && a.Setting.GOGC == "800" {
			if e := a.Final.Ratio; e.Different || math.Abs(e.Ratio-1) > 0.05 || e.N != len(r.FinalSamples(a)) {
				t.Errorf("%s: %+v", a.Name, e)
			}
			return
		}
	}
	t.Error("what the race liked is not in the final")
}

// A program that never ends is ended with the budget, and told what to do.
func TestBudgetBoundsEndless(t *testing.T) {
	m := newMachine(1)
	m.hangs = func(trial.Setting) bool { return true }
	opts := m.options(1)
	opts.Budget = 15 * time.Second
	r, err := Search(t.Context(), m, opts)
	if r != nil || err == nil || !strings.Contains(err.Error(), "did not end within --budget 15s") ||
		!strings.Contains(err.Error(), "--ready") {
		t.Errorf("error %v", err)
	}
	if spent := m.now.Sub(time.Unix(0, 0)); spent != opts.Budget {
		t.Errorf("took %v", spent)
	}
	// Later runs, too: no setting that hangs takes more than the budget.
	for seed := range uint64(20) {
		m := newMachine(seed)
		m.hangs = func(set trial.Setting) bool { return set.GOGC != "" && seed%2 == 0 || set.GOGC == "25" }
		opts := m.options(seed)
		opts.Budget = 70 * time.Second
		r, err := Search(t.Context(), m, opts)
		if spent := m.now.Sub(time.Unix(0, 0)); spent > opts.Budget {
			t.Errorf("seed %d: took %v", seed, spent)
		}
		if err != nil || r == nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		for _, a := range r.Arms {
			if a.Final != nil && m.hangs(a.Setting) {
				t.Errorf("seed %d: %s is compared", seed, a.Name)
			}
		}
	}
}

// An interrupt in the first round keeps what was measured, and compares nothing.
func TestInterruptedInRoundOne(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	m := newMachine(1)
	opts := m.options(1)
	opts.Progress = func(p Progress) {
		if p.Sample != nil && p.Trials == 7 {
			cancel()
		}
	}
	r, err := Search(ctx, m, opts)
	if err != nil || !r.Interrupted || r.Stage != InRace || r.Rounds != 1 || r.Answer.State != TooLittle || len(r.Answer.Recommended) > 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	n := 0
	for _, a := range r.Arms {
		n += len(a.Samples)
	}
	if n != 6 {
		t.Errorf("%d samples", n)
	}
}

// Of the settings that cannot be told apart and look the same, the one with the least
// memory is recommended. One that takes less memory, but looks worse in too few runs to
// know, is named.
func TestLessMemoryIsNamed(t *testing.T) {
	named := 0
	for seed := range uint64(60) {
		m := newMachine(seed)
		m.noise = 0.04
		m.cost = func(s trial.Setting) float64 {
			return map[string]float64{"": 1, "200": 0.80, "400": 0.77, "401": 0.77}[s.GOGC]
		}
		m.memory = func(s trial.Setting) float64 {
			return map[string]float64{"": 100, "200": 150, "400": 250, "401": 330}[s.GOGC]
		}
		opts := m.options(seed)
		opts.settings = []trial.Setting{{GOGC: "200"}, {GOGC: "400"}, {GOGC: "401"}}
		opts.Exhaustive, opts.MaxRounds = true, 10
		r := mustSearch(t, m, opts)
		rec := answerFor(r, Fastest)
		if rec.Arm.Name == "GOGC=200" || rec.Arm.Name == "default" {
			continue
		}
		for _, a := range rec.Undecided {
			if a.Name != "GOGC=200" {
				continue
			}
			named++
			if rec.Saves == nil || rec.Saves.Arm != a || rec.Saves.Ratio == nil || !rec.Saves.Memory.Different || !(rec.Saves.Memory.Ratio < 1) {
				t.Errorf("seed %d: %s is recommended, GOGC=200 undecided, and not said to save memory: %+v", seed, rec.Arm.Name, rec.Saves)
			}
		}
	}
	if named == 0 {
		t.Error("no search leaves GOGC=200 undecided")
	}
}

// A single run that takes much too long, as when the machine is suspended, ends neither
// the search nor an arm.
func TestOneSlowRunIsForgiven(t *testing.T) {
	for seed := range uint64(20) {
		m := newMachine(seed)
		m.noise = 0.02
		m.cost = func(set trial.Setting) float64 { return map[string]float64{"": 1, "400": 0.7}[set.GOGC] }
		slow := 20 + int(seed)
		m.hangs = func(trial.Setting) bool { return m.trials == slow }
		opts := m.options(seed)
		opts.settings = []trial.Setting{{GOGC: "400"}}
		opts.MaxRounds = 30
		r := mustSearch(t, m, opts)
		if rec := answerFor(r, Fastest); rec == nil || rec.Arm.Name != "GOGC=400" {
			t.Errorf("seed %d: %+v", seed, rec)
		}
		failed := 0
		for _, a := range r.Arms {
			for _, s := range a.Samples {
				if s.TimedOut {
					failed++
				}
			}
		}
		if failed != 1 {
			t.Errorf("seed %d: %d slow runs, want one", seed, failed)
		}
	}
}

// Where wall time leaves the answer open, CPU time may decide it; where it does not, it is not
// named.
func TestByCPU(t *testing.T) {
	for _, steady := range []bool{true, false} {
		s := newSimulated(3)
		s.noise, s.steadyCPU = 1.5, steady
		opts := s.options()
		opts.MaxRounds = 8
		res, err := Search(t.Context(), s, opts)
		if err != nil {
			t.Fatal(err)
		}
		by := res.Answer.ByCPU
		if res.Answer.State != Inconclusive || (by != nil) != steady {
			t.Fatalf("steady %v: got %s, %+v", steady, res.Answer.State, by)
		}
		if !steady {
			continue
		}
		i := slices.IndexFunc(res.Arms, func(a *Arm) bool { return a.Name == by.Arm })
		if i < 1 {
			t.Fatalf("no setting %q", by.Arm)
		}
		def, _ := s.truth(res.Arms[0].Setting)
		best, _ := s.truth(res.Arms[i].Setting)
		if e := by.Ratio; !e.Different || e.Hi == nil || *e.Hi >= 1 || math.Abs(e.Ratio-best/def) > 0.01 {
			t.Errorf("got %+v of %s, want a ratio of %.3f", e, by.Arm, best/def)
		}
	}
}
