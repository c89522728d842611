package diagnose

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/process/remedy"
	"github.com/foliomem/folio/internal/base/unit"
)

const docGroup = "https://docs.kernel.org/admin-guide/cgroup-v2.html#memory"

var containerRules = []Rule{
	{
		ID: "container-full", Title: "the container's memory is nearly used up", Scope: Container, Severity: Warning,
		Reads: []string{"memory.max", "memory.current", "memory.stat of the cgroups"}, Reference: docGroup, look: lookFull,
	}, {
		ID: "container-throttled", Title: "the container is slowed down for its memory", Scope: Container, Severity: Problem,
		Reads: []string{"memory.high", "memory.current of the cgroups"}, Reference: docGroup, look: lookThrottled,
	},
}

// files of a memory cgroup: version 1 has other names. Only version 2 is mounted
// with a directory that does not name the controller, but hybrids mix both, so
// the evidence names the directory.
func (g Group) reading(format string, args ...any) Reading {
	return Reading{g.Dir, fmt.Sprintf(format, args...)}
}

func lookFull(f *Facts) ([]Finding, error) {
	const full = 0.9
	groups, err := f.Groups.get()
	if err != nil {
		return nil, err
	}
	limit, dir, err := f.limit()
	if err != nil || limit == 0 {
		return nil, err
	}
	for _, g := range groups {
		if g.Dir != dir || g.Usage == nil {
			continue
		}
		used := *g.Usage
		if g.InactiveFile != nil {
			used -= min(used, *g.InactiveFile)
		}
		if float64(used) < full*float64(limit) {
			return nil, nil
		}
		return []Finding{{
			What:     fmt.Sprintf("The container's memory is nearly used up: %s.", unit.Percent(float64(used)/float64(limit))),
			Evidence: []Reading{g.reading("limit %s, in use %s without caches that are easily dropped", unit.Size(limit), unit.Size(used))},
			Means:    "At the limit the kernel reclaims caches, and then kills a process. Before that it refuses huge pages, which need room.",
			Fix: []Step{{Do: "Raise the limit, or set GOMEMLIMIT of the Go programs in it to about 90% of the limit in all.",
				Code: "GOMEMLIMIT=" + limitFor(limit)}},
		}}, nil
	}
	return nil, fmt.Errorf("%s does not say how much is in use", dir)
}

func lookThrottled(f *Facts) ([]Finding, error) {
	groups, err := f.Groups.get()
	if err != nil {
		return nil, err
	}
	for _, g := range groups {
		if g.High == nil || g.Usage == nil || *g.Usage < *g.High {
			continue
		}
		return []Finding{{
			What:     "The container is throttled: its memory use is above memory.high.",
			Evidence: []Reading{g.reading("memory.high %s, memory.current %s", unit.Size(*g.High), unit.Size(*g.Usage))},
			Means:    "Each allocation waits while the kernel reclaims memory of the container.",
			Fix:      []Step{{Do: "Raise memory.high, or keep the program below it:", Code: "GOMEMLIMIT=" + limitFor(*g.High)}},
		}}, nil
	}
	return nil, nil
}

// limitFor returns the value of GOMEMLIMIT for a container: 90%, so that there
// is room for what the runtime does not count.
func limitFor(bytes uint64) string { return wholeLimit(remedy.ContainerLimit(bytes, 0)) }

// limitFor is as limitFor, less the memory of the process that is not the runtime's, as
// far as that is known and leaves room.
func (p *Process) limitFor(bytes uint64) string {
	if limit := remedy.ContainerLimit(bytes, p.Memory.Value.Outside); limit > bytes/4 {
		return wholeLimit(limit)
	}
	return limitFor(bytes)
}

func wholeLimit(bytes uint64) string {
	if bytes < 9<<20 {
		return unit.Exact(bytes &^ (1<<10 - 1))
	}
	return unit.Exact(bytes &^ (1<<20 - 1))
}
