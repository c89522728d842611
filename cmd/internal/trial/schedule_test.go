package trial

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"testing"
)

// A script is a runner without processes: it notes the order of its calls.
type script struct {
	calls []string
	err   map[int]error // by number of the call, from 1
	after func(call int)
}

func (r *script) Run(_ context.Context, s Setting, req Request) (*Sample, error) {
	r.calls = append(r.calls, s.String())
	n := len(r.calls)
	if r.after != nil {
		defer r.after(n)
	}
	if err := r.err[n]; err != nil {
		return nil, err
	}
	return &Sample{Wall: float64(n)}, nil
}

func arms(n int) (out []*Arm) {
	for i := range n {
		out = append(out, NewArm(Setting{GOGC: strconv.Itoa(i)}))
	}
	return out
}

func rounds(t *testing.T, seed uint64, narms, n int) (*script, []*Arm) {
	t.Helper()
	r, a := &script{}, arms(narms)
	s := NewScheduler(r, seed)
	for range n {
		if err := s.Round(context.Background(), a); err != nil {
			t.Fatal(err)
		}
	}
	if s.Rounds() != n {
		t.Errorf("%d rounds, want %d", s.Rounds(), n)
	}
	return r, a
}

func TestRoundRunsEachArmOnce(t *testing.T) {
	const narms, n = 5, 40
	r, as := rounds(t, 1, narms, n)
	if len(r.calls) != narms*n {
		t.Fatalf("%d trials, want %d", len(r.calls), narms*n)
	}
	want := []string{"GOGC=0", "GOGC=1", "GOGC=2", "GOGC=3", "GOGC=4"}
	orders := make(map[string]bool)
	for i := range n {
		order := slices.Clone(r.calls[i*narms : (i+1)*narms])
		orders[fmt.Sprint(order)] = true
		slices.Sort(order)
		if !slices.Equal(order, want) {
			t.Fatalf("round %d ran %v", i+1, order)
		}
	}
	if len(orders) < n/2 {
		t.Errorf("%d rounds had %d different orders", n, len(orders))
	}
	var seen []int
	for _, a := range as {
		if len(a.Samples) != n {
			t.Fatalf("%s has %d samples, want %d", a.Name, len(a.Samples), n)
		}
		for i, s := range a.Samples {
			if s.Round != i+1 || float64(s.Sequence) != s.Wall || r.calls[s.Sequence-1] != a.Name {
				t.Errorf("%s: sample %d is of round %d, sequence %d; it was trial %v", a.Name, i, s.Round, s.Sequence, s.Wall)
			}
			seen = append(seen, s.Sequence)
		}
	}
	slices.Sort(seen)
	for i, seq := range seen {
		if seq != i+1 {
			t.Fatalf("sequence has %d at %d", seq, i)
		}
	}
}

func TestOrderComesFromSeed(t *testing.T) {
	one, _ := rounds(t, 7, 6, 10)
	again, _ := rounds(t, 7, 6, 10)
	other, _ := rounds(t, 8, 6, 10)
	if !slices.Equal(one.calls, again.calls) {
		t.Errorf("one seed gave two orders:\n%v\n%v", one.calls, again.calls)
	}
	if slices.Equal(one.calls, other.calls) {
		t.Errorf("two seeds gave the same order: %v", one.calls)
	}
}

func TestNoArmIsPreferred(t *testing.T) {
	const narms, n = 4, 2000
	r, _ := rounds(t, 3, narms, n)
	var at [narms]map[string]int // position -> arm -> count
	for i, name := range r.calls {
		p := i % narms
		if at[p] == nil {
			at[p] = make(map[string]int)
		}
		at[p][name]++
	}
	// Each is binomial around n/narms; the bound is five standard deviations.
	const mean, bound = n / narms, 97
	for p, counts := range at {
		for name, c := range counts {
			if c < mean-bound || c > mean+bound {
				t.Errorf("%s was %d times at place %d of %d rounds, want about %d", name, c, p, n, mean)
			}
		}
	}
}

func TestWarmupDoesNotCount(t *testing.T) {
	r, as := &script{}, arms(3)
	s := NewScheduler(r, 1)
	warm, err := s.Warmup(context.Background(), as)
	if err != nil {
		t.Fatal(err)
	}
	for i, a := range as {
		if len(a.Samples) != 0 {
			t.Errorf("%s has %d samples after a warm-up", a.Name, len(a.Samples))
		}
		if w := warm[i]; w == nil || w.Round != 0 || r.calls[w.Sequence-1] != a.Name {
			t.Errorf("warm-up sample %d is %+v, not that of %s", i, w, a.Name)
		}
	}
	if s.Rounds() != 0 {
		t.Errorf("a warm-up counts as %d rounds", s.Rounds())
	}
	if err := s.Round(context.Background(), as); err != nil {
		t.Fatal(err)
	}
	for _, a := range as {
		if got := a.Samples[0]; got.Round != 1 || got.Sequence <= 3 {
			t.Errorf("%s: the first sample is of round %d, sequence %d", a.Name, got.Round, got.Sequence)
		}
	}
}

func TestErrorKeepsWhatWasMeasured(t *testing.T) {
	boom := errors.New("boom")
	r, as := &script{err: map[int]error{6: boom}}, arms(4)
	s := NewScheduler(r, 1)
	ctx := context.Background()
	if err := s.Round(ctx, as); err != nil {
		t.Fatal(err)
	}
	err := s.Round(ctx, as)
	if !errors.Is(err, boom) {
		t.Fatalf("error %v", err)
	}
	total := 0
	for _, a := range as {
		total += len(a.Samples)
	}
	if total != 5 || len(r.calls) != 6 {
		t.Errorf("%d samples of %d trials, want 5 of 6", total, len(r.calls))
	}
	if s.Rounds() != 2 {
		t.Errorf("%d rounds begun", s.Rounds())
	}
	// The scheduler stays usable.
	if err := s.Round(ctx, as); err != nil {
		t.Fatal(err)
	}
	for _, a := range as {
		if last := a.Samples[len(a.Samples)-1]; last.Round != 3 {
			t.Errorf("%s: last sample is of round %d", a.Name, last.Round)
		}
	}

	r = &script{err: map[int]error{3: boom}}
	warm, err := NewScheduler(r, 1).Warmup(ctx, as)
	if !errors.Is(err, boom) || len(warm) != len(as) {
		t.Fatalf("warm-up: %d samples, %v", len(warm), err)
	}
	if n := len(slices.DeleteFunc(warm, func(s *Sample) bool { return s == nil })); n != 2 {
		t.Errorf("a warm-up that failed kept %d samples, want 2", n)
	}
}

func TestFailedTrialIsASample(t *testing.T) {
	as := arms(1)
	s := NewScheduler(runnerFunc(func() (*Sample, error) { return &Sample{Failure: "exit code 1"}, nil }), 1)
	if err := s.Round(context.Background(), as); err != nil {
		t.Fatal(err)
	}
	if len(as[0].Samples) != 1 || as[0].Samples[0].OK() {
		t.Errorf("samples %+v", as[0].Samples)
	}
}

type runnerFunc func() (*Sample, error)

func (f runnerFunc) Run(context.Context, Setting, Request) (*Sample, error) { return f() }

func TestCancelStopsTheRound(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, as := &script{}, arms(4)
	r.after = func(call int) {
		if call == 2 {
			cancel()
		}
	}
	s := NewScheduler(r, 1)
	if err := s.Round(ctx, as); !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v", err)
	}
	total := 0
	for _, a := range as {
		total += len(a.Samples)
	}
	if len(r.calls) != 2 || total != 2 {
		t.Errorf("%d trials, %d samples; want 2 of each", len(r.calls), total)
	}
	if _, err := s.Warmup(ctx, as); !errors.Is(err, context.Canceled) || len(r.calls) != 2 {
		t.Errorf("a canceled warm-up ran: %v, %d trials", err, len(r.calls))
	}
}

func TestObserve(t *testing.T) {
	boom := errors.New("boom")
	r, as := &script{err: map[int]error{5: boom}}, arms(2)
	s := NewScheduler(r, 1)
	var told []string
	s.Observe = func(arm *Arm, round int, sample *Sample) {
		when := "before"
		if sample != nil {
			when = "after"
			if sample.Round != round || sample.Sequence != len(r.calls) {
				t.Errorf("told of round %d, sequence %d", sample.Round, sample.Sequence)
			}
		}
		told = append(told, fmt.Sprint(when, " ", arm.Name, " ", round))
	}
	ctx := context.Background()
	if _, err := s.Warmup(ctx, as); err != nil {
		t.Fatal(err)
	}
	if err := s.Round(ctx, as); err != nil {
		t.Fatal(err)
	}
	if err := s.Round(ctx, as); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	var want []string
	for i, name := range r.calls {
		round := i / 2
		want = append(want, fmt.Sprint("before ", name, " ", round))
		if i < 4 { // the fifth never ended
			want = append(want, fmt.Sprint("after ", name, " ", round))
		}
	}
	if !slices.Equal(told, want) {
		t.Errorf("told\n%q, want\n%q", told, want)
	}
}

// glimpses is a runner whose trees are seen in so many looks, one after the other.
type glimpses []int

func (g *glimpses) Run(context.Context, Setting, Request) (*Sample, error) {
	n := (*g)[0]
	*g = (*g)[1:]
	return &Sample{PeakRSS: bytesOf(100), PeakRSSSource: Kernel, PeakTreeRSS: bytesOf(200), PeakTreeRSSSource: Sampled,
		PeakTreeRSSLooks: n}, nil
}

// All samples of a search compare by one figure of memory: one whose peak of the tree was
// hardly seen makes it the exact one for all, also for those from before.
func TestSchedulerMemory(t *testing.T) {
	s := NewScheduler(&glimpses{9, 9, 9, 1, 9, 9}, 1)
	arms := []*Arm{NewArm(Setting{}), NewArm(Setting{GOGC: "400"})}
	for round, want := range []float64{200, 100, 100} {
		if err := s.Round(t.Context(), arms); err != nil {
			t.Fatal(err)
		}
		for _, a := range arms {
			for _, sample := range a.Samples {
				if got, _ := sample.Memory(); got != want {
					t.Errorf("after round %d: %v, want %v", round+1, got, want)
				}
			}
		}
	}
}
