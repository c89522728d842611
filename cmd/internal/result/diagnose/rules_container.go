package diagnose

import (
	"fmt"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
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
	limit, ok, err := f.limit()
	if err != nil || !ok {
		return nil, err
	}
	if limit.Memory.Usage == nil {
		return nil, fmt.Errorf("%s does not say how much is in use", limit.Level())
	}
	used := *limit.Memory.Usage
	if m := limit.Memory.InactiveFile; m != nil {
		used -= min(used, *m)
	}
	if float64(used) < full*float64(limit.Bytes) {
		return nil, nil
	}
	reading := uses(limit)
	reading.Says += ", in use " + unit.Size(used) + " without caches that are easily dropped"
	h := Finding{
		What:     fmt.Sprintf("The container's memory is nearly used up: %s.", unit.Percent(float64(used)/float64(limit.Bytes))),
		Evidence: []Reading{reading},
		Means:    "At the limit the kernel reclaims caches, and then kills a process. Before that it refuses huge pages, which need room.",
		Fix:      []Step{f.fits(limit, "Raise the limit, or set GOMEMLIMIT")},
	}
	if m := limit.Memory.Shared; m != nil && *m >= limit.Bytes/4 {
		h.Means += fmt.Sprintf(" %s are tmpfs and other shared memory, which stays when processes end.", unit.Size(*m))
		if h.Fix[0].Code != listTmpfs {
			h.Fix = append(h.Fix, Step{Do: "Or " + freeTmpfs, Code: listTmpfs})
		}
	}
	return []Finding{h}, nil
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
			Fix:      []Step{f.fits(procmem.Limit{Bytes: *g.High, Dir: g.Dir, Memory: g.GroupMemory}, "Raise memory.high, or keep the program below it")},
		}}, nil
	}
	return nil, nil
}
