package tune

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
)

// loaded is a simulated server under load. The machine's drift is in its latency as it is
// in the wall time of the program.
type loaded struct {
	*simulated
	p99    func(gogc float64) float64 // milliseconds
	failed func(gogc float64) int64   // of 1000 requests
	late   func(trial int) bool
	n      int
}

func (l *loaded) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	s, err := l.simulated.Run(ctx, set, req)
	if err != nil || !s.OK() {
		return s, err
	}
	l.n++
	gogc := 100.0
	switch set.GOGC {
	case "":
	case trial.Off:
		gogc = math.Inf(1)
	default:
		n, _ := strconv.Atoi(set.GOGC)
		gogc = float64(n)
	}
	clean, _ := l.truth(set)
	ns := int64(l.p99(gogc) * 1e6 * s.Wall / clean)
	r := &load.Result{Complete: true, Settings: load.Settings{URLs: []string{"http://server/"}, Rate: 100, Duration: 10}}
	if l.failed != nil {
		r.Failed = l.failed(gogc)
		r.Failures.Status = r.Failed
	}
	r.Intended, r.Succeeded = 1000, 1000-r.Failed
	// Rank 990 of 1000 is the first of the slow ones.
	r.Latency.Histogram = load.Histogram{SignificantFigures: 3, Nanoseconds: []int64{ns / 10, ns}, Counts: []int64{989, 11 - r.Failed}}
	r.Latency.P50, r.Latency.P99 = new(float64(ns/10)/1e9), new(float64(ns)/1e9)
	if r.Failed == 0 {
		r.Latency.P999 = r.Latency.P99
	}
	r.Lateness.P99, r.Lateness.Bound = new(0.0), 0.001
	if l.late != nil && l.late(l.n) {
		r.Late, r.Lateness.P99 = true, new(0.005)
		s.Failure = "the load generator was late"
		s.FailureKind = trial.FailedLate
	}
	s.Load, s.Latencies = r, &trial.Latencies{P50: r.Latency.P50, P99: r.Latency.P99, P999: r.Latency.P999, CPUPerRequest: new(s.CPU / float64(r.Succeeded))}
	return s, nil
}

// A server whose p99 falls with GOGC, while more memory costs CPU time from some point on.
func loadedServer() *loaded {
	sim := newSimulated(1)
	return &loaded{simulated: sim, p99: func(gogc float64) float64 { return 4 + 800/math.Min(gogc, 3200) }}
}

func searchLoad(t *testing.T, l *loaded, o Options) (*Result, error) {
	t.Helper()
	o.SafeMemory, o.Seed, o.Now = 8<<30, 3, func() time.Time { return l.now }
	if o.Budget == 0 {
		o.Budget = 20 * time.Minute
	}
	return Search(t.Context(), l, o)
}

// Percentiles are merged, and what is recommended has the least.
func TestSearchByPercentile(t *testing.T) {
	l := loadedServer()
	r, err := searchLoad(t, l, Options{Metric: &metric.Spec{Name: metric.P99}})
	if err != nil {
		t.Fatal(err)
	}
	best := r.Answer.Recommended[0].Arm
	if best == r.Arms[0] || best.Final.Ratio == nil || best.Final.Ratio.Ratio > 0.5 {
		t.Errorf("recommended %s: %+v", best.Name, best.Final)
	}
	def := r.Arms[0]
	if want, ok := trial.CenterOf(r.FinalSamples(def), metric.P99); !ok || def.Final.Adjusted != want {
		t.Errorf("the default's p99 is %v, want that of all requests, %v", def.Final.Adjusted, want)
	}
}

// A setting that breaks a limit in any run is out; the default is compared with, and not
// recommended.
func TestLimits(t *testing.T) {
	l := loadedServer()
	r, err := searchLoad(t, l, Options{Metric: &metric.Spec{Name: metric.CPUPerRequest}, Limits: Limits{P99: 9 * time.Millisecond}})
	if err != nil {
		t.Fatal(err)
	}
	out := 0
	for _, a := range r.Arms {
		broken := slices.ContainsFunc(a.Samples, func(s *trial.Sample) bool { return *s.P99 > 0.009 })
		if broken && a != r.Arms[0] {
			out++
			if a.Status != OverLimit || !strings.HasPrefix(a.Reason, "p99 ") || !strings.HasSuffix(a.Reason, ", more than --max-p99 9ms") {
				t.Errorf("%s: %s, %q", a.Name, a.Status, a.Reason)
			}
		} else if a.Status == OverLimit {
			t.Errorf("%s kept to the limit, and is out", a.Name)
		}
		for _, rec := range r.Answer.Recommended {
			if rec.Arm == a && broken || slices.Contains(rec.Tied, a) && broken {
				t.Errorf("%s is recommended, or tied", a.Name)
			}
		}
	}
	if out == 0 || len(r.Answer.Recommended) == 0 || !slices.ContainsFunc(r.Notes, func(n string) bool {
		return strings.HasPrefix(n, "the default is not recommended, and only compared with: p99 ")
	}) {
		t.Errorf("%d out, recommended %v, notes %q", out, r.Answer.Recommended, r.Notes)
	}

	l = loadedServer()
	l.failed = func(gogc float64) int64 {
		if gogc > 300 {
			return 6
		}
		return 5
	}
	r, err = searchLoad(t, l, Options{Metric: &metric.Spec{Name: metric.P50}, Limits: Limits{Errors: maxErrors(t, "0.5%")}})
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Arms {
		over := a.Samples[0].Load.Failed > 5
		if got := a.Status == OverLimit; got != over || got && a.Reason != "6 of 1,000 requests failed, more than --max-errors 0.5%" {
			t.Errorf("%s: %s, %q", a.Name, a.Status, a.Reason)
		}
	}

	_, err = searchLoad(t, loadedServer(), Options{Metric: &metric.Spec{Name: metric.P99}, Limits: Limits{P99: time.Millisecond}})
	if err == nil || !strings.HasPrefix(err.Error(), "--max-p99 1ms: every measured setting exceeds it in some run; the lowest p99 is ") {
		t.Errorf("error %v", err)
	}
}

func maxErrors(t *testing.T, s string) *MaxErrors {
	t.Helper()
	m, err := ParseMaxErrors(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMaxErrors(t *testing.T) {
	for _, c := range []struct {
		text        string
		failed, all int64
		ok          bool
	}{
		{"0", 0, 10, true}, {"0", 1, 10, false}, {"10", 10, 10, true}, {"0.1%", 1, 1000, true}, {"0.1%", 2, 1000, false}, {"7%", 7, 100, true},
	} {
		if got := maxErrors(t, c.text).Allows(c.failed, c.all); got != c.ok {
			t.Errorf("%s, %d of %d: %v", c.text, c.failed, c.all, got)
		}
	}
	for _, s := range []string{"", "x", "-1", "100%", "-1%", "NaN%", "1.5"} {
		if _, err := ParseMaxErrors(s); err == nil || !strings.HasPrefix(err.Error(), "--max-errors ") {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// Late runs are repeated; of a default that is late again and again the search says so.
func TestLateSearch(t *testing.T) {
	l := loadedServer()
	l.late = func(trial int) bool { return trial%5 == 0 }
	r, err := searchLoad(t, l, Options{Metric: &metric.Spec{Name: metric.P99}})
	if err != nil {
		t.Fatal(err)
	}
	dropped := 0
	for _, a := range r.Arms {
		for _, s := range a.Samples {
			if s.Late() {
				t.Errorf("%s: a late run counts", a.Name)
			}
			dropped += len(s.LateBefore)
		}
	}
	if dropped != l.n/5 && dropped != l.n/5-len(r.Warmup.LateBefore) {
		t.Errorf("%d of %d runs dropped", dropped, l.n)
	}
	l = loadedServer()
	l.late = func(int) bool { return true }
	if _, err := searchLoad(t, l, Options{}); err == nil || err.Error() != "the load generator was late (4 runs one after the other)" || l.n != 4 {
		t.Errorf("%v, after %d runs", err, l.n)
	}
}

// A load with hardly a GC cycle says so, and which has some.
func TestTooShort(t *testing.T) {
	for _, c := range []struct {
		metric string
		cycles *int
		want   string
	}{
		{metric.P99, new(2), "2 GC cycles ran in the first load of the default, of 10s: p99 of a run depends on whether one falls into it; --load-duration 15s has some three"},
		{metric.P999, new(0), "no GC cycle ran in the first load of the default, of 10s: settings of the GC cannot shorten a tail that the GC has no part in; see whether one runs with a longer --load-duration, or a higher --rate"},
		{metric.P99, new(3), ""}, {metric.P99, nil, ""}, {metric.CPUPerRequest, new(1), ""},
	} {
		s := &trial.Sample{GCCycles: c.cycles, Load: &load.Result{Settings: load.Settings{Duration: 10}}}
		if got := tooShort(&metric.Spec{Name: c.metric}, s); got != c.want {
			t.Errorf("%s, %v cycles: %q", c.metric, c.cycles, got)
		}
	}
}

// A budget that is spent before a run counted says why none did.
func TestNoRunCounts(t *testing.T) {
	for _, c := range []struct {
		late bool
		want string
	}{
		{true, "no run counted within --budget 11s: the load generator was late in 2 runs: give generator and server CPUs of their own, lower the rate, or give a larger --budget"},
		{false, "the first run did not end within --budget 11s: it takes the server's start, --load-warmup and --load-duration; give a larger --budget, or a shorter load"},
	} {
		l := loadedServer()
		l.late = func(int) bool { return c.late }
		runs := 0
		bounded := runnerFunc(func(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
			if runs++; runs == 3 || !c.late {
				return &trial.Sample{TimedOut: true, Failure: "took longer than 1s"}, nil
			}
			return l.Run(ctx, set, req)
		})
		_, err := Search(t.Context(), bounded, Options{Budget: 11 * time.Second, SafeMemory: 1 << 30, Metric: &metric.Spec{Name: metric.P99},
			Now: func() time.Time { return l.now }})
		if err == nil || err.Error() != c.want {
			t.Errorf("late %v: %v", c.late, err)
		}
	}
}

type runnerFunc func(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error)

func (f runnerFunc) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	return f(ctx, set, req)
}
