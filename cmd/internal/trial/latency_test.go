package trial

import (
	"context"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// lateRunner is late in the runs that it is told of, counted from 1.
type lateRunner struct {
	late []int
	n    int
}

func (r *lateRunner) Run(context.Context, Setting, Request) (*Sample, error) {
	r.n++
	l := &load.Result{Complete: true, Counts: load.Counts{Intended: 10, Succeeded: 10}}
	l.Lateness.P99, l.Lateness.Bound = new(float64(r.n)/100), 0.001
	l.Late = slices.Contains(r.late, r.n)
	s := &Sample{Wall: 1, CPU: 2, Load: l}
	s.setLoad(nil)
	return s, nil
}

// A server that failed by itself is not a late run, however late the generator was: it is not
// repeated until it does not fail.
func TestFailedRunIsNotLate(t *testing.T) {
	for _, c := range []struct {
		failure string
		late    bool
	}{{"", true}, {"killed by the kernel's OOM killer: ...", false}, {lateFailure + ", a server says", false}} {
		l := &load.Result{Complete: true, Late: true, Counts: load.Counts{Intended: 10, Succeeded: 10}}
		l.Lateness.P99, l.Lateness.Bound = new(0.5), 0.001
		s := &Sample{Wall: 1, CPU: 2, Load: l, Failure: c.failure}
		s.setLoad(nil)
		if s.Late() != c.late || (s.FailureKind == FailedLate) != c.late || s.OK() || c.failure != "" && s.Failure != c.failure {
			t.Errorf("%q: late %v, failure %q", c.failure, s.Late(), s.Failure)
		}
	}
}

// A run in which the generator was late is repeated, a few times.
// Requests that are not answered for a second are the server's, where the generator was late by
// milliseconds; where it was late by about as much, nothing is known of the server.
func TestTimeoutsOfALateGenerator(t *testing.T) {
	for lateness, want := range map[float64]FailureKind{0.003: "", 0.6: FailedLate} {
		l := load.Result{Late: true, Complete: true, Settings: load.Settings{Timeout: 1}, Lateness: load.Lateness{P99: &lateness}}
		l.Intended, l.Failed, l.Failures.Timeout = 200, 200, 200
		s := &Sample{Load: &l}
		s.setLoad(nil)
		if s.Failure == "" || s.FailureKind != want || s.Late() != (want == FailedLate) {
			t.Errorf("late by %v s: failure %q (%v), late %v", lateness, s.Failure, s.FailureKind, s.Late())
		}
	}
}

func TestLateRunsAreRepeated(t *testing.T) {
	for _, c := range []struct {
		late    []int
		repeats int
		runs    int
		before  []float64
		ok      bool
	}{
		{nil, 3, 1, nil, true},
		{[]int{1, 2}, 3, 3, []float64{0.01, 0.02}, true},
		{[]int{1, 2, 3, 4, 5}, 3, 4, []float64{0.01, 0.02, 0.03}, false},
		{[]int{1}, 0, 1, nil, false},
	} {
		r := &lateRunner{late: c.late}
		s := NewScheduler(r, 1)
		s.Repeats = c.repeats
		told := 0
		s.Observe = func(*Arm, int, *Sample) { told++ }
		arm := NewArm(Setting{})
		if err := s.Round(t.Context(), []*Arm{arm}); err != nil {
			t.Fatal(err)
		}
		got := arm.Samples[0]
		if r.n != c.runs || len(arm.Samples) != 1 || !slices.Equal(got.LateBefore, c.before) || got.OK() != c.ok || told != 2 {
			t.Errorf("late %v: %d runs, %v dropped, failure %q, told %d times", c.late, r.n, got.LateBefore, got.Failure, told)
		}
		if got.Sequence != 1 || got.Round != 1 {
			t.Errorf("sequence %d, round %d", got.Sequence, got.Round)
		}
	}
}
