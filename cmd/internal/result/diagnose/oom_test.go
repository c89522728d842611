package diagnose

import (
	"strings"
	"testing"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// What keeps a program from being killed comes before what makes it faster.
func TestOOMAdvice(t *testing.T) {
	killed := &trial.Sample{Failure: "killed by the kernel's OOM killer: ...", Counts: &trial.Counts{OOMKills: new(uint64(1))}}
	fine := &trial.Sample{Counts: &trial.Counts{OOMKills: new(uint64(0))}}
	s := busy()
	before := len(s.Advise())
	s.OOM = NewOOMKills([]*trial.Sample{fine, {}, fine}, new(uint64(128<<20)))
	if got := s.Advise(); len(got) != before {
		t.Errorf("no kill: %+v", got)
	}
	// What 80 MiB of 128 MiB are that the runtime held.
	read := &trial.Sample{Failure: killed.Failure, Counts: killed.Counts, Held: trial.Held{Runtimes: 1, Bytes: 80 << 20, Live: 20 << 20, Charged: 128 << 20}}
	small := &trial.Sample{Failure: killed.Failure, Counts: killed.Counts, Held: trial.Held{Runtimes: 1, Bytes: 10 << 20, Live: 5 << 20, Charged: 128 << 20}}
	early := &trial.Sample{Failure: killed.Failure, Counts: killed.Counts, Held: trial.Held{Runtimes: 1, Bytes: 60 << 20, Live: 5 << 20, Charged: 90 << 20}}
	two := &trial.Sample{Failure: killed.Failure, Counts: killed.Counts, Held: trial.Held{Runtimes: 2, Bytes: 120 << 20, Live: 20 << 20, Charged: 128 << 20}}
	for _, c := range []struct {
		samples  []*trial.Sample
		limit    *uint64
		setting  trial.Setting
		evidence []string
		fix      string
	}{
		{[]*trial.Sample{fine, read, fine}, new(uint64(128 << 20)), trial.Setting{}, []string{"1 of 3 runs: killed by"},
			"folio run --memlimit=72MiB -- ./prog 'a b'   # 128.0MiB less 48.00MiB outside the Go runtime (48.00MiB other memory of processes), less a margin of 8.000MiB; "},
		{[]*trial.Sample{read}, new(uint64(128 << 20)), trial.Setting{MemLimit: 100 << 20}, []string{"killed by", "GOMEMLIMIT is 100MiB, 78.1% of the limit, and 48.00MiB were outside"},
			"folio run --memlimit=72MiB -- "},
		{[]*trial.Sample{read}, new(uint64(128 << 20)), trial.Setting{Env: []string{"GOMEMLIMIT=128MiB"}}, []string{"GOMEMLIMIT is 128MiB, 100.0% of the limit"},
			"folio run --memlimit=72MiB -- "},
		{[]*trial.Sample{read}, new(uint64(128 << 20)), trial.Setting{MemLimit: 60 << 20}, nil, "a --cgroup-memory above 128MiB, or less load: GOMEMLIMIT is small enough already"},
		{[]*trial.Sample{two}, new(uint64(128 << 20)), trial.Setting{}, nil, "folio run --memlimit=56MiB -- ./prog 'a b'   # 128.0MiB less 8.000MiB outside the Go runtime"},
		{[]*trial.Sample{small}, new(uint64(128 << 20)), trial.Setting{}, []string{"No limit helps: 118.0MiB of 128.0MiB are elsewhere"}, "a --cgroup-memory above 128MiB, or less load"},
		{[]*trial.Sample{killed}, new(uint64(128 << 20)), trial.Setting{}, []string{"killed by"}, "a --cgroup-memory above 128MiB, or less load"},
		{[]*trial.Sample{early}, new(uint64(128 << 20)), trial.Setting{MemLimit: 100 << 20}, []string{"killed by"}, "a --cgroup-memory above 128MiB, or less load, or a smaller GOMEMLIMIT than 100MiB"},
		{[]*trial.Sample{killed}, nil, trial.Setting{}, []string{"killed by"}, "give the program more memory"},
	} {
		s.OOM, s.Setting = NewOOMKills(c.samples, c.limit), c.setting
		got := s.Advise()
		if len(got) != before+1 || got[0].Rule != ruleOOM || !strings.HasPrefix(got[0].Fix, c.fix) {
			t.Errorf("%+v: %+v", c, got)
			continue
		}
		for _, e := range c.evidence {
			if !strings.Contains(got[0].Evidence, e) {
				t.Errorf("no %q in %q", e, got[0].Evidence)
			}
		}
	}
}
