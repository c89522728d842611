package tune

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A machine is a simulated one, whose speed drifts.
type machine struct {
	kind   int // 0 a slow wave, 1 steps, 2 a ramp, 3 steps and a wave
	noise  float64
	rng    *rand.Rand
	period float64
	level  float64
	now    time.Time
	trials int

	cost   func(trial.Setting) float64 // seconds on a steady machine
	memory func(trial.Setting) float64 // MiB
	cycles func(trial.Setting) int     // nil: not known
	faults func(trial.Setting) float64 // nil: none
	hangs  func(trial.Setting) bool    // runs that do not end by themselves; nil: none
	dies   func(trial.Setting) bool    // runs that fail; nil: none
}

func newMachine(seed uint64) *machine {
	rng := rand.New(rand.NewPCG(seed, 11))
	m := &machine{kind: int(seed % 4), noise: 0.02 + 0.08*rng.Float64(), rng: rng,
		period: 40 * math.Exp(3*rng.Float64()), level: 1, now: time.Unix(0, 0)}
	m.cost = func(trial.Setting) float64 { return 1 }
	m.memory = func(trial.Setting) float64 { return 100 }
	return m
}

// speed is how much slower than at its best the machine is now.
func (m *machine) speed() float64 {
	out := 1.0
	at := float64(m.trials)
	if m.kind == 0 || m.kind == 3 {
		out *= 1 + 0.3*math.Sin(2*math.Pi*at/m.period)
	}
	if m.kind == 1 || m.kind == 3 {
		if m.rng.Float64() < 1/m.period {
			m.level = 0.7 + m.rng.Float64()
		}
		out *= m.level
	}
	if m.kind == 2 {
		out *= 1 + at/300
	}
	return out
}

// student draws from Student's distribution with three degrees of freedom: tails so
// heavy that one trial in fifty is off by more than three standard deviations.
func (m *machine) student() float64 {
	chi := 0.0
	for range 3 {
		x := m.rng.NormFloat64()
		chi += x * x
	}
	return m.rng.NormFloat64() / math.Sqrt(chi/3)
}

func (m *machine) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.trials++
	wall := m.cost(set) * m.speed() * math.Exp(m.noise*m.student())
	if m.hangs != nil && (m.hangs(set) || wall > req.Timeout.Seconds()) {
		m.now = m.now.Add(req.Timeout)
		return &trial.Sample{Wall: req.Timeout.Seconds(), TimedOut: true, Failure: "took longer than " + req.Timeout.String()}, nil
	}
	m.now = m.now.Add(time.Duration(wall * float64(time.Second)))
	if m.dies != nil && m.dies(set) {
		return &trial.Sample{Wall: wall, Failure: "exit status 2"}, nil
	}
	bytes := uint64(m.memory(set) * math.Exp(0.01*m.rng.NormFloat64()) * (1 << 20))
	out := &trial.Sample{Wall: wall, CPU: wall, PeakRSS: &bytes, PeakTreeRSS: &bytes, Metrics: map[string]float64{"op/s": 1000 / wall}}
	if m.faults != nil {
		out.MinorFaults = int64(m.faults(set))
	}
	if m.cycles != nil {
		n := m.cycles(set)
		out.GCCycles = &n
	}
	return out, nil
}

func (m *machine) options(seed uint64) Options {
	return Options{SafeMemory: 4 << 30, Budget: 15 * time.Minute, Seed: seed, Now: func() time.Time { return m.now }}
}

// races runs searches in parallel, and hands each result to look, one at a time.
func races(t *testing.T, n int, search func(seed uint64) *Result, look func(seed uint64, r *Result)) {
	t.Helper()
	seeds := make(chan uint64)
	var wait sync.WaitGroup
	var mu sync.Mutex
	for range runtime.GOMAXPROCS(0) {
		wait.Go(func() {
			for seed := range seeds {
				r := search(seed)
				mu.Lock()
				look(seed, r)
				mu.Unlock()
			}
		})
	}
	for seed := range uint64(n) {
		seeds <- seed
	}
	close(seeds)
	wait.Wait()
}

func count() int { return testenv.Some(150, 1000) }

func forty() (out []trial.Setting) {
	for i := range 40 {
		out = append(out, trial.Setting{GOGC: strconv.Itoa(101 + i)})
	}
	return out
}

// On a machine whose speed drifts, a program for which no setting matters: at most
// one printed comparison in twenty shows a difference, and at most one race in
// twenty recommends a setting.
func TestNothingIsRecommended(t *testing.T) {
	t.Parallel()
	n := count()
	var finals, different, left, claims, told, settled int
	races(t, n, func(seed uint64) *Result {
		m := newMachine(seed)
		opts := m.options(seed)
		opts.settings = forty()
		r, err := Search(t.Context(), m, opts)
		if err != nil {
			t.Error(err)
			return &Result{}
		}
		return r
	}, func(seed uint64, r *Result) {
		for _, a := range r.Arms {
			if a.Final != nil && a.Final.Ratio != nil {
				finals++
				if a.Final.Ratio.Different {
					different++
				}
				if e := a.Final.MemoryRatio; e != nil && e.Different && math.Abs(e.Ratio-1) > band {
					t.Errorf("seed %d: %s: memory %+v", seed, a.Name, e)
				}
			}
			if a.Left != nil {
				left++
				if a.Left.AtLeast > 0 {
					claims++
				}
			}
		}
		wrong := false
		for _, rec := range r.Answer.Recommended {
			wrong = wrong || rec.Arm != r.Arms[0]
		}
		if wrong {
			told++
		}
		if r.Answer.State == Conclusive {
			settled++
		}
		contradictions(t, fmt.Sprint("seed ", seed), r)
	})
	t.Logf("%d races: %d of %d comparisons of finals differ, %d of %d settings that dropped early are called slower, %d races recommend a setting, %d are settled",
		n, different, finals, claims, left, told, settled)
	if different > finals/20 || claims > left/200 || told > n/20 {
		t.Errorf("more than one in twenty")
	}
	if finals < 4*n || left < 30*n {
		t.Error("too little was compared for a test")
	}
}

// contradictions reports where an answer does not agree with its table.
func contradictions(t *testing.T, name string, r *Result) {
	t.Helper()
	if len(r.Answer.Recommended) == 0 {
		return
	}
	main := r.Answer.Recommended[0].Arm
	ranks := make(map[int]bool)
	for _, a := range r.Arms {
		f := a.Final
		if f == nil {
			continue
		}
		if ranks[f.Rank] {
			t.Errorf("%s: two arms of rank %d", name, f.Rank)
		}
		ranks[f.Rank] = true
		if f.Tied && f.Undecided {
			t.Errorf("%s: %s both looks the same and does not", name, a.Name)
		}
		if f.Tied && f.Ratio != nil && main.Final.Memory != nil && f.Memory != nil && *f.Memory < *main.Final.Memory*(1-2*band) &&
			f.Ratio.Different && !giant(main) {
			t.Errorf("%s: %s cannot be told apart from %s and takes less memory", name, a.Name, main.Name)
		}
		if f.Rank < main.Final.Rank && !f.Tied && !f.Undecided {
			t.Errorf("%s: %s ranks better than %s and can be told apart from it", name, a.Name, main.Name)
		}
		if e := f.Ratio; e != nil && e.Lo != nil && (e.Different != (*e.Lo > 1 || *e.Hi < 1)) {
			t.Errorf("%s: %s: %+v", name, a.Name, e)
		}
		for _, b := range r.Arms {
			better := b.Final != nil && b.Final.Adjusted < f.Adjusted
			if r.Objective.Higher {
				better = b.Final != nil && b.Final.Adjusted > f.Adjusted
			}
			if better && b.Final.Rank > f.Rank {
				t.Errorf("%s: %s with %v ranks behind %s with %v", name, b.Name, b.Final.Adjusted, a.Name, f.Adjusted)
			}
		}
	}
	if up := r.Answer.UpTo; up > 0 && main == r.Arms[0] && !r.Objective.Higher && !slices.ContainsFunc(r.Arms, func(a *Arm) bool {
		return a.Final != nil && a.Final.Ratio != nil && a.Final.Ratio.Lo != nil && math.Abs(*a.Final.Ratio.Lo-(1-up)) < 1e-9
	}) {
		t.Errorf("%s: one may be better by up to %v, which is the interval of none", name, up)
	}
	if main != r.Arms[0] && !main.Final.Ratio.Different && r.Answer.State == Conclusive {
		t.Errorf("%s: settled, and %s is not known to be better: %+v", name, main.Name, main.Final.Ratio)
	}
}

// Where settings matter they are found, on the same machines: an answer within 3% of
// the best, and nearly always one better than the default where that is 10% slower.
func TestDifferencesAreFound(t *testing.T) {
	t.Parallel()
	n := count() / 4
	found, near, settled, covered := 0, 0, 0, 0
	truth := func(set trial.Setting) float64 { // best at GOGC=800
		return 0.88 + 0.12*math.Abs(math.Log(float64(level(set))/800))/math.Log(8)
	}
	races(t, n, func(seed uint64) *Result {
		m := newMachine(seed)
		m.cost = func(set trial.Setting) float64 {
			if set.GOGC == trial.Off {
				return 1
			}
			return truth(set)
		}
		m.memory = func(set trial.Setting) float64 { return 40 + 60*float64(level(set))/100 }
		r, err := Search(t.Context(), m, m.options(seed))
		if err != nil {
			t.Error(err)
			return nil
		}
		return r
	}, func(seed uint64, r *Result) {
		contradictions(t, fmt.Sprint("seed ", seed), r)
		rec := answerFor(r, Fastest)
		if rec.Arm != r.Arms[0] {
			found++
			e, want := rec.Arm.Final.Ratio, truth(rec.Arm.Setting)
			if *e.Lo <= want && want <= *e.Hi {
				covered++
			}
		}
		if truth(rec.Arm.Setting) <= 1.03*0.88 {
			near++
		}
		if r.Answer.State == Conclusive {
			settled++
			if truth(rec.Arm.Setting) > 1.06*0.88 {
				t.Logf("seed %d: settled with %s", seed, rec.Arm.Name)
			}
		}
	})
	t.Logf("of %d: %d found, %d within 3%%, %d settled, interval right in %d", n, found, near, settled, covered)
	if found < n*95/100 || near < n*85/100 || covered < found*95/100 {
		t.Error("differences are missed")
	}
}
