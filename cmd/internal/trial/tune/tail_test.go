package tune

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/test/testenv"
)

// A tailed server is one whose p99 is noisy, as that of a real one is: a GC cycle falls into
// a load of some seconds or does not, and in one of ten the machine stands still.
type tailed struct {
	rng  *rand.Rand
	now  time.Time
	each time.Duration // that a run takes
	p99  func(set trial.Setting) float64
}

func (s *tailed) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	s.now = s.now.Add(s.each)
	p := s.p99(set) * math.Exp(0.5*s.rng.NormFloat64())
	if s.rng.Float64() < 0.1 {
		p = max(p, 0.02*math.Exp(0.3*s.rng.NormFloat64())) // the machine stood still
	}
	mem := 300.0
	switch set.GOGC {
	case "":
	case trial.Off:
		mem = 600
	default:
		mem = 150 * (1 + float64(level(set))/100)
	}
	bytes, cycles := uint64(min(mem, 900)*(1<<20)), 10
	heap := bytes
	ns := int64(p * 1e9)
	r := &load.Result{Complete: true, Settings: load.Settings{URLs: []string{"http://server/"}, Rate: 100, Duration: 10}}
	r.Intended, r.Succeeded = 1000, 1000
	r.Latency.Histogram = load.Histogram{SignificantFigures: 3, Nanoseconds: []int64{ns / 10, ns}, Counts: []int64{989, 11}}
	r.Latency.P50, r.Latency.P99 = new(float64(ns/10)/1e9), new(p)
	r.Latency.P999 = r.Latency.P99
	return &trial.Sample{Wall: s.each.Seconds(), CPU: 1, PeakRSS: &bytes, PeakTreeRSS: &bytes, HeapPeak: &heap, GCCycles: &cycles, Load: r,
		Latencies: &trial.Latencies{P50: r.Latency.P50, P99: r.Latency.P99, P999: r.Latency.P999, CPUPerRequest: new(0.001)}}, nil
}

// byGC is the p99 of a server of which the tail is the GC's doing.
func byGC(set trial.Setting) float64 {
	switch set.GOGC {
	case "":
		return 0.035
	case trial.Off:
		return 0.003
	}
	return 0.003 + 0.032*100/float64(level(set))
}

func weak(set trial.Setting) float64 {
	if set.GOGC == trial.Off || level(set) > 200 {
		return 0.006
	}
	return 0.01
}

func flat(trial.Setting) float64 { return 0.01 }

func tailSearch(t *testing.T, seed uint64, p99 func(trial.Setting) float64, each, budget time.Duration) *Result {
	s := &tailed{rng: rand.New(rand.NewPCG(seed, 5)), now: time.Unix(0, 0), each: each, p99: p99}
	r, err := Search(t.Context(), s, Options{SafeMemory: 8 << 30, Limit: 1 << 30, Budget: budget, Seed: seed, Now: func() time.Time { return s.now },
		Metric: &metric.Spec{Name: metric.P99}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Five minutes, with runs of eight seconds, are enough for the answer where p99 is the GC's doing.
func TestTailIsFound(t *testing.T) {
	const n = 40
	found := 0
	for seed := range uint64(n) {
		r := tailSearch(t, seed, byGC, 8*time.Second, 5*time.Minute)
		if a := r.Answer.Recommended[0].Arm; a != r.Arms[0] && a.Final.Ratio.Ratio < 0.5 {
			found++
		}
	}
	if found < n*9/10 {
		t.Errorf("%d of %d searches found a setting that halves p99", found, n)
	}
}

// Where the answer is open, a budget as it estimates decides most searches: a setting is known to be
// better than the default, or none is by more than the margin.
func TestEstimatedBudget(t *testing.T) {
	testenv.Alone(t)
	t.Parallel()
	n := uint64(testenv.Some(8, 40))
	for name, p99 := range map[string]func(trial.Setting) float64{"weak": weak, "flat": flat} {
		open, decided := 0, 0
		for seed := range n {
			const each, budget = 8 * time.Second, 5 * time.Minute
			r := tailSearch(t, seed, p99, each, budget)
			if known(r) {
				continue
			}
			open++
			advised := unit.RoundUp(r.Elapsed + time.Duration(r.Answer.Missing*float64(time.Second)))
			if advised <= budget {
				t.Fatalf("%s, seed %d: %+v", name, seed, r.Answer)
			}
			if known(tailSearch(t, seed, p99, each, advised)) {
				decided++
			}
		}
		t.Logf("%s: %d of %d open, %d decided with the budget that they estimated", name, open, n, decided)
		if open < int(n)/4 || decided < open*55/100 {
			t.Errorf("%s: %d of %d decided", name, decided, open)
		}
	}
}

// known says that a search showed a setting to be better than the default, or none.
func known(r *Result) bool {
	return r.Answer.State == Conclusive || r.Answer.Recommended[0].Arm != r.Arms[0]
}
