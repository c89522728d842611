package main

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/process/host"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

// limitFlags are the limits of a container that runs get.
type limitFlags struct {
	memory string
	cpus   float64
}

func (f *limitFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.memory, "cgroup-memory", "", "run the program in a cgroup with a memory limit of this `size`, without swap, as in a container")
	fs.Float64Var(&f.cpus, "cgroup-cpus", 0, "run the program in a cgroup with a CPU quota of `n` CPUs, such as 1.5, as in Kubernetes")
}

// parse checks the limits. given are the flags of the command.
func (f *limitFlags) parse(given *pflag.FlagSet) (l cgroup.Limits, err error) {
	if f.memory != "" {
		if l.Memory, err = cgroup.ParseMemory(f.memory); err != nil {
			return l, fmt.Errorf("--cgroup-memory: %w", err)
		}
	}
	if given.Changed("cgroup-cpus") {
		if l.CPUs, err = cgroup.CheckCPUs(f.cpus); err != nil {
			return l, fmt.Errorf("--cgroup-cpus: %w", err)
		}
	}
	return l, nil
}

// openLimits returns where cgroups with these limits are made; nil for no limits.
func openLimits(l cgroup.Limits) (*cgroup.Parent, error) {
	if l.IsZero() {
		return nil, nil
	}
	return cgroup.Open(procmem.New(""), l)
}

// recorded is what a result says of limits: nil for none.
func recorded(l cgroup.Limits) *cgroup.Limits {
	if l.IsZero() {
		return nil
	}
	return &l
}

// procs says what a CPU quota does to the GOMAXPROCS of the program in a file: which value it
// begins with, and what else is worth a try. What is set by hand stays so; known is false
// then, and for programs that are not Go.
type procs struct {
	known   bool
	initial int
	others  []int
	text    string // for the notes
}

func (s *session) procs(exe string) (p procs) {
	goVersion, _, isGo := host.Program(exe)
	set := os.Getenv("GOMAXPROCS") != "" || slices.ContainsFunc(s.base.Env, func(kv string) bool { return strings.HasPrefix(kv, "GOMAXPROCS=") })
	if s.limits.CPUs == nil || !isGo || set || s.base.GOMAXPROCS != 0 {
		return p
	}
	quota, have := *s.limits.CPUs, s.host.CPUs
	p.known, p.initial = true, have
	round := int(min(math.Ceil(quota), float64(have)))
	for _, n := range []int{int(max(math.Floor(min(quota, float64(have))), 1)), round} {
		if !slices.Contains(p.others, n) {
			p.others = append(p.others, n)
		}
	}
	cpus := unit.Plural(have, "CPU")
	switch why := host.IgnoresQuota(exe, s.base.Environ(os.Environ())); {
	case why == "":
		p.initial = min(max(round, 2), have)
		p.text = fmt.Sprintf("GOMAXPROCS is %d by default: %s derives it from the quota of %s (never below 2) and the %s here",
			p.initial, goVersion, cgroup.Limits{CPUs: &quota}, cpus)
	case round < have:
		p.text = fmt.Sprintf("GOMAXPROCS is %d by default, as this machine has %s, whatever the quota of %s: %s; set GOMAXPROCS=%d, or build with Go 1.25 or later (and that in go.mod)",
			have, cpus, cgroup.Limits{CPUs: &quota}, why, round)
	}
	p.others = slices.DeleteFunc(p.others, func(n int) bool { return n == p.initial })
	return p
}
