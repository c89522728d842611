package tune

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// limitedRun kills what takes more than its limit, as the kernel does.
type limitedRun struct {
	*simulated
	limit uint64
	over  int // extra bytes of GOMEMLIMIT that a program takes: the kernel's own memory and so on, MiB
	held  trial.Held
}

func (l limitedRun) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	s, err := l.simulated.Run(ctx, set, req)
	if err != nil {
		return nil, err
	}
	kills := uint64(0)
	if *s.PeakRSS+uint64(l.over)<<20 > l.limit {
		kills, s.Signal = 1, "SIGKILL"
		s.Failure = "killed by the kernel's OOM killer: memory of the cgroup reached its limit"
	}
	s.Counts, s.Held = &trial.Counts{OOMKills: &kills}, l.held
	return s, nil
}

// In a cgroup, whatever grows gets a GOMEMLIMIT within the limit; an arm that is killed all
// the same is out at once, with the reason, and is not recommended.
func TestSearchWithinLimit(t *testing.T) {
	s := newSimulated(1)
	opts := s.options()
	opts.Limit = 256 << 20
	res, err := Search(t.Context(), limitedRun{s, opts.Limit, 60, trial.Held{}}, opts)
	if err != nil {
		t.Fatal(err)
	}
	killed := 0
	for _, a := range res.Arms {
		set := a.Setting
		if set.MemLimit > opts.Limit/10*9 || set.GOGC == trial.Off && set.MemLimit == 0 || level(set) > 100 && set.MemLimit != 230<<20 {
			t.Errorf("%s in %d", a.Name, opts.Limit)
		}
		for i, sample := range a.Samples {
			if !sample.OutOfMemory() {
				continue
			}
			killed++
			if a.Status != Failed || !strings.Contains(a.Reason, "OOM killer") || i != 0 || len(a.Samples) > 1 {
				t.Errorf("%s: %s (%s) after %d runs", a.Name, a.Status, a.Reason, len(a.Samples))
			}
		}
	}
	if killed == 0 {
		t.Error("no arm was killed: the test is of nothing")
	}
	if fast := answerFor(res, Fastest); fast == nil || fast.Arm.Status != Finalist || fast.Arm == res.Arms[0] {
		t.Errorf("recommended: %+v", fast)
	}
	// With a bound below the limit, that decides.
	opts.Limits.RSS = 200 << 20
	if res, err = Search(t.Context(), limitedRun{newSimulated(2), opts.Limit, 0, trial.Held{}}, opts); err != nil {
		t.Fatal(err)
	}
	for _, a := range res.Arms {
		if a.Setting.MemLimit > opts.Limits.RSS {
			t.Errorf("%s with --max-rss", a.Name)
		}
	}
}

// A default that is killed ends the search, with what to do.
func TestDefaultOutOfMemory(t *testing.T) {
	s := newSimulated(1)
	opts := s.options()
	opts.Limit = 64 << 20
	const killed = "the command failed with its default settings: killed by the kernel's OOM killer: memory of the cgroup reached its limit; give a larger --cgroup-memory"
	for _, c := range []struct {
		held trial.Held
		want string
	}{
		{trial.Held{}, ""}, // no Go runtime was read
		{trial.Held{Runtimes: 1, Bytes: 50 << 20, Live: 10 << 20, Charged: 64 << 20},
			", or a default that fits: GOMEMLIMIT=42MiB folio tune ... (64.00MiB less 14.00MiB outside the Go runtime (14.00MiB other memory of processes), less a margin of 8.000MiB)"},
		{trial.Held{Runtimes: 1, Bytes: 4 << 20, Live: 2 << 20, Charged: 64 << 20}, ": No limit helps: 60.00MiB of 64.00MiB are elsewhere (60.00MiB other memory of processes)"},
	} {
		s.trials = 0
		if _, err := Search(t.Context(), limitedRun{s, opts.Limit, 0, c.held}, opts); err == nil || err.Error() != killed+c.want {
			t.Errorf("%+v: %v", c.held, err)
		}
		if s.trials != 1 {
			t.Errorf("%d runs", s.trials)
		}
	}
}

// The limits that are tried are multiples of the heap where the cgroup has room for them,
// and parts of the limit where it has not.
func TestLimitsInCgroup(t *testing.T) {
	for _, c := range []struct {
		sp   space
		want string
	}{
		{space{top: 921 << 20, heap: 50 << 20}, "[100 200 400]"},
		{space{top: 921 << 20, guard: 921 << 20, heap: 50 << 20}, "[100 200 400]"},
		{space{top: 230 << 20, guard: 230 << 20, heap: 120 << 20}, "[92 128 176]"},
		{space{top: 921 << 20, guard: 921 << 20, tight: true, heap: 50 << 20}, "[376 512 704]"},
	} {
		var got []uint64
		for _, l := range c.sp.limits() {
			got = append(got, l>>20)
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%+v: %d, want %s", c.sp, got, c.want)
		}
	}
}
