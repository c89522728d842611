package diagnose

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// OOMKills are the runs that an OOM killer ended.
type OOMKills struct {
	Runs, Of int     // of them there were Of
	Failure  string  // of the last one
	Limit    *uint64 // of the memory of the cgroup; nil for none
}

// NewOOMKills counts the runs of samples that an OOM killer ended.
func NewOOMKills(samples []*trial.Sample, limit *uint64) OOMKills {
	out := OOMKills{Of: len(samples), Limit: limit}
	for _, s := range samples {
		if s.OutOfMemory() {
			out.Runs, out.Failure = out.Runs+1, s.Failure
		}
	}
	return out
}

const (
	ruleOOM   = "oom-kill"
	sourceOOM = "https://go.dev/doc/gc-guide#Memory_limit"
)

// memoryLimitPart is the part of a cgroup's limit that GOMEMLIMIT is advised to be: the rest is
// for what the Go runtime does not count.
const memoryLimitPart = 0.9

// adviseOOM says what to do about a limit that a run went beyond: GOMEMLIMIT where there is
// none, else more memory.
func adviseOOM(s *RunFacts) (NextStep, bool) {
	k := s.OOM
	if k.Runs == 0 {
		return NextStep{}, false
	}
	evidence := k.Failure
	if k.Of > 1 {
		evidence = fmt.Sprintf("%d of %s: %s", k.Runs, unit.Plural(k.Of, "run"), evidence)
	}
	switch {
	case s.HeapPeak == nil:
	case s.AtLeast:
		evidence += "; heap peak at least " + unit.Bytes(*s.HeapPeak)
	default:
		evidence += "; heap at most " + unit.Bytes(*s.HeapPeak)
	}
	out := NextStep{Rule: ruleOOM, Source: sourceOOM, What: "Keep within the memory limit: the OOM killer ended the program", Evidence: evidence}
	switch {
	case k.Limit == nil:
		out.Fix = "give the program more memory, or less load"
		return out, true
	case s.Setting.MemLimit != 0:
		out.Fix = fmt.Sprintf("a --cgroup-memory above %s, or less load: GOMEMLIMIT is set already", unit.Exact(*k.Limit))
		return out, true
	}
	const remark = "GC cycles then come before the limit; a run that is killed even so needs a larger --cgroup-memory, or less load"
	limit := unit.Exact(uint64(memoryLimitPart*float64(*k.Limit)) >> 20 << 20)
	out.Fix = s.lineWith(remark, "run", "--memlimit="+limit)
	return out, true
}
