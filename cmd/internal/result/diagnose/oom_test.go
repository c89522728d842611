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
	for _, c := range []struct {
		samples  []*trial.Sample
		limit    *uint64
		memLimit uint64
		evidence string
		fix      string
	}{
		{[]*trial.Sample{fine, killed, fine}, new(uint64(128 << 20)), 0, "1 of 3 runs: killed by", "folio run --memlimit=115MiB -- ./prog 'a b'   # "},
		{[]*trial.Sample{killed}, new(uint64(128 << 20)), 100 << 20, "killed by", "a --cgroup-memory above 128MiB"},
		{[]*trial.Sample{killed}, nil, 0, "killed by", "give the program more memory"},
	} {
		s.OOM, s.Setting.MemLimit = NewOOMKills(c.samples, c.limit), c.memLimit
		got := s.Advise()
		if len(got) != before+1 || got[0].Rule != ruleOOM || !strings.HasPrefix(got[0].Evidence, c.evidence) || !strings.HasPrefix(got[0].Fix, c.fix) {
			t.Errorf("%+v: %+v", c, got)
		}
	}
}
