package lab

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/test/testenv"
)

// tiny is what the tests run: a few huge pages of memory.
const tiny = 8 << 20

// measured runs the arms of an experiment that need no permission, once, in
// processes of their own, and returns what they found at the largest size.
func measured(t *testing.T, e *Experiment, size uint64) func(arm, key string) float64 {
	t.Helper()
	m := ReadMachine()
	size = max(size, 4*uint64(page.WindowSize()))
	if size > m.Spare/2 {
		testenv.Missing(t, "too little memory for %s", unit.Exact(size))
	}
	res, err := Run(context.Background(), Options{
		Experiments: []*Experiment{e}, Machine: m, Size: size, Rounds: 1, Runner: Process([]string{os.Args[0], "arm"}, nil),
	})
	if err != nil {
		t.Fatal(err)
	}
	out := res.Outcomes[0]
	if out.Err != nil || !out.Complete || out.Rounds != 1 {
		t.Fatalf("%v, complete %v, %d rounds", out.Err, out.Complete, out.Rounds)
	}
	out.Conclusions() // whatever it says, it says it
	return func(arm, key string) float64 {
		t.Helper()
		a := out.Arm(arm)
		if a == nil || a.Arm.NotRun != "" {
			t.Fatalf("%s did not run: %+v", arm, a)
		}
		v := a.Values(out.Params.Size, key)
		if len(v) != 1 {
			t.Fatalf("%s has %d values of %s", arm, len(v), key)
		}
		return v[0]
	}
}

// needTHP skips a test where programs that ask get no huge pages.
func needTHP(t *testing.T) {
	t.Helper()
	if err := page.Allowed(page.THP, 0); err != nil {
		testenv.Missing(t, "no huge pages: %v", err)
	}
}

func between(t *testing.T, what string, got, least, most float64) {
	t.Helper()
	if !(got >= least && got <= most) {
		t.Errorf("%s: %v, want %v to %v", what, got, least, most)
	}
}

func TestPagesWork(t *testing.T) {
	needTHP(t)
	at := measured(t, pages, tiny)
	for _, arm := range []string{"base", "thp"} {
		for _, key := range []string{"latency_seconds", "throughput_seconds"} {
			between(t, arm+" "+key, at(arm, key), 1e-12, 1)
		}
	}
	between(t, "base pages that are huge", at("base", "huge_fraction"), 0, 0)
	between(t, "huge pages that are huge", at("thp", "huge_fraction"), 0.25, 1)
}

func TestFaultsWork(t *testing.T) {
	needTHP(t)
	at := measured(t, faults, tiny)
	size := float64(max(tiny, 4*page.WindowSize()))
	n := size / float64(page.Size())
	// A few faults more: the record's memory, and what the runtime does meanwhile.
	between(t, "faults with base pages", at("base", "faults"), n, n+64)
	between(t, "faults with huge pages", at("thp", "faults"), 1, n*0.8)
	between(t, "faults of memory that is used again", at("reused", "faults"), 0, 64)
	between(t, "huge with base pages", at("base", "huge_fraction"), 0, 0)
	between(t, "huge after populating", at("populate-thp", "huge_fraction"), 0.25, 1)
	between(t, "time in all", at("populate", "total_seconds"), at("populate", "write_seconds")*n, 1e6)
}

func TestMadviseWork(t *testing.T) {
	needTHP(t)
	at := measured(t, madvise, tiny)
	n := float64(max(tiny, 4*page.WindowSize())) / float64(page.Size())
	for _, kind := range []string{"base", "thp"} {
		between(t, kind+" kept when kept", at(kind+"-keep", "kept_fraction"), 1, 1)
		between(t, kind+" kept after DONTNEED", at(kind+"-dontneed", "kept_fraction"), 0, 0)
		between(t, kind+" kept after FREE", at(kind+"-free", "kept_fraction"), 0, 1)
		between(t, kind+" faults when kept", at(kind+"-keep", "again_faults"), 0, 64)
	}
	between(t, "faults after DONTNEED", at("base-dontneed", "again_faults"), n, n+64)
}

func TestForkWork(t *testing.T) {
	needTHP(t)
	at := measured(t, fork, tiny)
	n := float64(min(fork.defaults.Count, max(tiny, 4*page.WindowSize())/page.Size()))
	between(t, "faults without a child", at("no-fork", "faults"), 0, 64)
	between(t, "faults of base pages", at("base", "faults"), n, n+64)
	// Every page that was written to is there twice, and nearly nothing else.
	between(t, "extra memory of base pages", at("base", "extra_bytes"), n*float64(page.Size()), n*float64(page.Size())+4<<20)
	between(t, "extra memory of huge pages", at("thp", "extra_bytes"), n*float64(page.Size()), 1e12)
	for _, arm := range []string{"no-fork", "base", "thp"} {
		between(t, arm+" p99", at(arm, "p99_seconds"), at(arm, "p50_seconds"), at(arm, "max_seconds"))
	}
}

func TestBloatWork(t *testing.T) {
	needTHP(t)
	at := measured(t, bloat, tiny)
	size := float64(max(tiny, 4*page.WindowSize()))
	live := size / float64(page.WindowSize()) / 2 * float64(page.Size())
	for _, arm := range []string{"base", "thp-parts"} {
		between(t, arm+" live", at(arm, "live_bytes"), live, live)
		between(t, arm+" right after", at(arm, "freed_resident_bytes"), live, live)
		between(t, arm+" huge", at(arm, "huge_bytes"), 0, 0)
	}
	between(t, "whole windows", at("thp-windows", "freed_resident_bytes"), size/2, size/2)
}

func TestStallWork(t *testing.T) {
	needTHP(t)
	m := ReadMachine()
	var arms []string
	e := *stall
	e.defaults.Count = 1 // memory cannot be put into pieces in a second, or it can
	e.arms = func(m *Machine, p Params) []*Arm { return stallArms(m, p)[:2] }
	at := measured(t, &e, tiny)
	for _, a := range e.Arms(m, e.defaults) {
		arms = append(arms, a.Name)
		between(t, a.Name+" p99", at(a.Name, "p99_seconds"), at(a.Name, "p50_seconds"), at(a.Name, "max_seconds"))
	}
	if strings.Join(arms, " ") != "base thp" {
		t.Errorf("arms %q", arms)
	}
	between(t, "huge", at("thp", "huge_fraction"), 0.25, 1)
	between(t, "not huge", at("base", "huge_fraction"), 0, 0)
}

func TestWorkFails(t *testing.T) {
	for _, tt := range []struct {
		task Task
		want string
	}{
		{Task{Experiment: "nosuch", Arm: "x", Size: 1, Count: 1}, "unknown experiment"},
		{Task{Experiment: "pages", Arm: "x", Count: 1}, "must be more than 0"},
		{Task{Experiment: "pages", Arm: "x", Size: 3 << 20, Count: 1}, "must be a power of two"},
		{Task{Experiment: "pages", Arm: "x", Size: 1 << 62, Count: 1}, "more than the generator"},
		{Task{Experiment: "bloat", Arm: "x", Size: 1 << 62, Count: 1}, "map"},
		{Task{Experiment: "faults", Arm: "x", Size: 1 << 20, Count: 1, Cgroup: "/no/such/group"}, "enter the cgroup"},
	} {
		p := &trial.Program{Command: append([]string{os.Args[0], "arm"}, tt.task.Args()...), MaxMemory: 1 << 30}
		s, err := p.Run(context.Background(), trial.Setting{}, trial.Request{})
		if err != nil {
			t.Fatal(err)
		}
		if s.OK() || !strings.Contains(s.Reason(), tt.want) || strings.Contains(s.Tail, "goroutine ") {
			t.Errorf("%+v: %s: %s", tt.task, s.Failure, s.Tail)
		}
	}
}
