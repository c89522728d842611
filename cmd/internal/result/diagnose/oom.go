package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// OOMKills are the runs that an OOM killer ended.
type OOMKills struct {
	Runs, Of int     // of them there were Of
	Failure  string  // of the last one
	Charged  string  // what its cgroup was charged for before; "" if that is not known
	Limit    *uint64 // of the memory of the cgroup; nil for none
	// Fit is how the last of them fits into the limit; nil where no Go runtime could be read.
	Fit *memlimit.Fit
}

// NewOOMKills counts the runs of samples that an OOM killer ended.
func NewOOMKills(samples []*trial.Sample, limit *uint64) OOMKills {
	out := OOMKills{Of: len(samples), Limit: limit}
	for _, s := range samples {
		if s.OutOfMemory() {
			out.Runs, out.Failure = out.Runs+1, s.Failure
			out.Charged = s.Charged
			if limit == nil {
				continue
			}
			if fit, ok := s.Fit(*limit); ok {
				out.Fit = &fit
			}
		}
	}
	return out
}

const (
	ruleOOM   = "oom-kill"
	sourceOOM = "https://go.dev/doc/gc-guide#Memory_limit"
)

// adviseOOM says what to do about a limit that a run went beyond: the GOMEMLIMIT that fits, or
// more memory.
func adviseOOM(s *RunFacts) (NextStep, bool) {
	k := s.OOM
	if k.Runs == 0 {
		return NextStep{}, false
	}
	evidence := k.Failure
	if k.Of > 1 {
		evidence = fmt.Sprintf("%d of %s: %s", k.Runs, unit.Plural(k.Of, "run"), evidence)
	}
	if k.Charged != "" {
		evidence += "; " + k.Charged
	}
	if s.HeapPeak != nil { // nobody saw the last of it
		evidence += "; heap peak at least " + unit.Bytes(*s.HeapPeak)
	}
	out := NextStep{Rule: ruleOOM, Source: sourceOOM, What: "Keep within the memory limit: the OOM killer ended the program", Evidence: evidence}
	if k.Limit == nil {
		out.Fix = "give the program more memory, or less load"
		return out, true
	}
	more := "a --cgroup-memory above " + unit.Exact(*k.Limit) + ", or less load"
	set := s.memLimit()
	if k.Fit == nil {
		out.Fix = more
		if set > 0 {
			out.Fix += ", or a smaller GOMEMLIMIT than " + unit.Exact(set)
		}
		return out, true
	}
	if set > 0 && k.Fit.Breaks(set) {
		out.What = "GOMEMLIMIT does not fit into the memory limit: the OOM killer ended the program"
		out.Evidence += fmt.Sprintf("; GOMEMLIMIT is %s, %s of the limit, and %s were outside the Go runtime", unit.Exact(set),
			unit.Percent(float64(set)/float64(*k.Limit)), unit.Size(k.Fit.Outside))
	}
	switch {
	case k.Fit.Most == 0:
		out.Fix = more
		out.Evidence += ". " + strings.TrimSuffix(k.Fit.Reason(), ".")
	case set > 0 && set <= k.Fit.Most:
		out.Fix = more + ": GOMEMLIMIT is small enough already"
	default:
		remark := strings.TrimSuffix(k.Fit.Reason(), ".") + "; a run that is killed even so needs a larger --cgroup-memory, or less load"
		// Its flag, and not the variable, is given.
		t := *s
		t.Setting.Env = slices.DeleteFunc(slices.Clone(s.Setting.Env), func(kv string) bool { return strings.HasPrefix(kv, "GOMEMLIMIT=") })
		out.Fix = t.lineWith(remark, "run", "--memlimit="+unit.Exact(k.Fit.Most))
	}
	return out, true
}

// memLimit is the GOMEMLIMIT that the runs had by their setting or the environment; 0 for none.
func (s *RunFacts) memLimit() uint64 {
	if s.Setting.MemLimit != 0 {
		return s.Setting.MemLimit
	}
	for _, env := range [][]string{s.Setting.Env, trial.Baseline()} {
		for _, kv := range env {
			if value, ok := strings.CutPrefix(kv, "GOMEMLIMIT="); ok {
				n, _ := unit.ParseSize(value) // 0 for off
				return n
			}
		}
	}
	return 0
}
