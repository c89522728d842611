package main

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/cgroup"
)

// limitFlags are the limits of a container that runs get.
type limitFlags struct {
	memory string
	cpus   float64
}

func (f *limitFlags) add(fs *pflag.FlagSet) {
	fs.StringVar(&f.memory, "cgroup-memory", "", "run in a cgroup with a memory limit of this `size`, without swap")
	fs.Float64Var(&f.cpus, "cgroup-cpus", 0, "run in a cgroup with a CPU quota of `n` CPUs, such as 1.5")
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

// procs says what a CPU quota does to the GOMAXPROCS of the program in a file.
func (m *measurement) procs(exe string) trial.QuotaProcs {
	return trial.ProcsOf(exe, m.base, m.limits.CPUs, m.host.CPUs)
}
