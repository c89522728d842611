package node

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/internal/program/executable"
)

// A Snapshot is the account at a moment.
type Snapshot struct {
	Workloads []Workload
	Stats     Stats
	Synced    bool
	Pods      int
	Overflow  int // containers that are in metrics.Overflow now
}

// A Workload is a container: the sums of its processes.
type Workload struct {
	Labels
	Counters
	Processes, Unread int
	Gauges            map[string]float64 // by name of the metric, without labels
	Resident          map[string]float64 // by kind
	Charged           map[string]float64 // by part
	Infos             []Info
}

// Info is what a program was built from.
type Info struct{ GoVersion, Module, Version string }

// Snapshot returns the account as it is now.
func (n *Node) Snapshot() *Snapshot {
	n.mu.Lock()
	defer n.mu.Unlock()
	s := &Snapshot{Stats: n.stats}
	s.Stats.Unreadable = maps.Clone(n.stats.Unreadable)
	if n.Pods != nil {
		s.Synced, s.Pods = n.Pods.Synced(), n.Pods.Pods()
	}
	all := make(map[Labels]*merge)
	at := func(l Labels) *merge {
		if all[l] == nil {
			all[l] = &merge{w: Workload{Labels: l, Gauges: make(map[string]float64), Resident: make(map[string]float64), Charged: make(map[string]float64)}}
		}
		return all[l]
	}
	for l, p := range n.ended {
		at(l).w.Counters.add(&p.Counters)
	}
	for _, g := range n.groups {
		if !g.labeled {
			continue
		}
		m := at(g.labels)
		m.w.Counters.add(&g.Counters)
		m.group(g)
		if g.labels == n.overflow() {
			s.Overflow++
		}
	}
	for _, m := range all {
		slices.SortFunc(m.w.Infos, func(a, b Info) int {
			return cmp.Or(cmp.Compare(a.Module, b.Module), cmp.Compare(a.Version, b.Version), cmp.Compare(a.GoVersion, b.GoVersion))
		})
		s.Workloads = append(s.Workloads, m.w)
	}
	slices.SortFunc(s.Workloads, func(a, b Workload) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.Container, b.Container))
	})
	return s
}

// merge adds up the processes of a workload.
type merge struct {
	w       Workload
	largest uint64 // heap of the process whose settings are those of the workload
}

func (m *merge) group(g *group) {
	w := &m.w
	if u := g.usage; g.hasUsage && w.Pod != "" {
		m.sum(metrics.CgroupMemoryBytes, u.Memory)
		m.sum(metrics.CgroupPageCacheBytes, u.PageCache)
		for _, s := range u.Charged {
			w.Charged[s.Name] += float64(s.Bytes)
		}
		w.Gauges[metrics.CgroupMemoryLimitBytes], w.Gauges[metrics.CgroupCPULimitCores] = math.Inf(1), math.Inf(1)
		if u.MemoryLimit != nil {
			w.Gauges[metrics.CgroupMemoryLimitBytes] = float64(*u.MemoryLimit)
		}
		if u.CPULimit != nil {
			w.Gauges[metrics.CgroupCPULimitCores] = *u.CPULimit
		}
	}
	for p := range g.processes {
		w.Processes++
		m.info(p.program.build)
		o := &p.memory
		if !o.HeapKnown || !o.RuntimeKnown {
			w.Unread++
		}
		for kind, v := range map[string]*uint64{metrics.KindAnon: o.Anon, metrics.KindFile: o.File, metrics.KindShmem: o.Shmem} {
			if v != nil {
				w.Resident[kind] += float64(*v)
			}
		}
		m.sum(metrics.HeapResidentBytes, o.HeapResident)
		m.sum(metrics.HeapHugeBytes, o.HeapHuge)
		m.sum(metrics.HeapGainBytes, o.HeapGain)
		m.sum(metrics.HeapBloatBytes, o.HeapBloat)
		m.sum(metrics.LiveHeapBytes, o.Live)
		m.sum(metrics.HeapGoalBytes, o.Goal)
		if o.Live == nil || o.GOGC == nil || o.Limit == nil {
			continue
		}
		if _, has := w.Gauges[metrics.GOGCPercent]; !has || *o.Live > m.largest {
			m.largest = *o.Live
			w.Gauges[metrics.GOGCPercent], w.Gauges[metrics.GOMEMLIMITBytes] = *o.GOGC, *o.Limit
		}
	}
}

func (m *merge) sum(name string, v *uint64) {
	if v != nil {
		m.w.Gauges[name] += float64(*v)
	}
}

func (m *merge) info(b executable.Build) {
	i := Info{clean(b.GoVersion), clean(b.Module), clean(b.Version)}
	switch {
	case slices.Contains(m.w.Infos, i):
	case m.w.Pod == "":
		// All programs of the host: they would be as many as there are.
	case len(m.w.Infos) < metrics.MaxInfos:
		m.w.Infos = append(m.w.Infos, i)
	}
}
