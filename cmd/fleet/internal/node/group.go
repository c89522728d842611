package node

import (
	"strconv"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
	"github.com/foliomem/folio/cmd/fleet/internal/pod"
)

const classes = 8 // len(metrics.MemoryClasses)

// Labels name a container in metrics.
type Labels struct{ Namespace, Pod, Container string }

// Counters are what the processes of a container used in all.
type Counters struct {
	CPU, Sampled, CgroupCPU  float64 // seconds
	Allocating               float64 // seconds, in which Allocated was
	Allocated                uint64  // bytes
	Tax                      [classes]float64
	MinorFaults, MajorFaults uint64
	GCCycles                 uint64
}

func (c *Counters) add(o *Counters) {
	c.CPU += o.CPU
	c.Sampled += o.Sampled
	c.CgroupCPU += o.CgroupCPU
	c.Allocating += o.Allocating
	c.Allocated += o.Allocated
	c.MinorFaults += o.MinorFaults
	c.MajorFaults += o.MajorFaults
	c.GCCycles += o.GCCycles
	for i, v := range o.Tax {
		c.Tax[i] += v
	}
}

// A group is a container that has, or had, Go processes.
type group struct {
	Counters
	id        pod.ID
	born      time.Time
	last      time.Time // when its last process ended
	processes map[*Process]bool

	labels  Labels
	labeled bool // labels are those that metrics have
	final   bool // and stay

	cgroup   cgroups.Dir
	found    bool
	usage    cgroups.Usage
	hasUsage bool
	lastCPU  float64
}

// past is what containers with the same labels used that have ended.
type past struct {
	Counters
	uid  string
	last time.Time
}

const (
	// unnamed is how long a container waits for the API to name it: until then it has no
	// metrics, then those of its IDs.
	unnamed = time.Minute
	// linger is how long the counters of a container stay after its last process and its
	// pod are gone, so that the last scrape has them.
	linger = 5 * time.Minute
	// unknown is how long they stay where nothing says whether the pod is gone.
	unknown = 15 * time.Minute
)

// group returns the group of a process.
func (n *Node) group(pid int, now time.Time) *group {
	id := pod.Parse(n.Cgroup(pid))
	if id.UID == "" && n.Pods == nil && id.Container != "" {
		id.Container = "" // all together: see metrics.OutsideContainer
		id.UID = outside
	}
	g := n.groups[id]
	if g == nil {
		g = &group{id: id, born: now, processes: make(map[*Process]bool)}
		n.groups[id] = g
	}
	return g
}

// outside is the UID of all containers that are of no pod.
const outside = "outside"

// name gives labels to the groups that have none, and takes leave of those that ended.
func (n *Node) name(now time.Time) {
	for id, g := range n.groups {
		if !g.final {
			n.label(g, now)
		}
		if len(g.processes) == 0 && (g.labeled || now.Sub(g.last) > unnamed) {
			if !g.labeled {
				g.labels = n.room(n.fallback(g))
			}
			n.bury(g, now)
			delete(n.groups, id)
		}
	}
	for l, p := range n.ended {
		if l.Pod == "" || n.live(l) {
			continue // there are few of those, or it goes on
		}
		keep := unknown
		if n.Pods != nil && n.Pods.Synced() {
			if n.Pods.Has(p.uid) {
				continue
			}
			keep = linger
		}
		if now.Sub(p.last) > keep {
			delete(n.ended, l)
		}
	}
}

// label asks for the names of a group.
func (n *Node) label(g *group, now time.Time) {
	if g.id.Container == "" && g.id.UID == "" {
		g.labels, g.labeled, g.final = Labels{Container: metrics.OutsideHost}, true, true
		return
	}
	if g.id.UID == outside {
		g.labels, g.labeled, g.final = Labels{Container: metrics.OutsideContainer}, true, true
		return
	}
	if n.Pods != nil {
		name, ok := n.Pods.Find(g.id.UID, g.id.Container)
		switch {
		case ok:
			if g.labeled && g.labels == n.overflow() {
				g.final = true
				return // once among those without room, always
			}
			g.labels, g.labeled, g.final = n.room(Labels{clean(name.Namespace), clean(name.Pod), clean(name.Container)}), true, true
			return
		case g.labeled, now.Sub(g.born) < unnamed && len(g.processes) > 0:
			return
		case g.id.UID == "" && n.Pods.Synced():
			g.labels, g.labeled, g.final = Labels{Container: metrics.OutsideContainer}, true, true
			return
		}
	}
	g.labels, g.labeled, g.final = n.room(n.fallback(g)), true, n.Pods == nil
}

// fallback are the labels of a container that nobody names.
func (n *Node) fallback(g *group) Labels {
	if g.id.UID == "" || g.id.UID == outside {
		return Labels{Container: metrics.OutsideContainer}
	}
	return Labels{Pod: g.id.UID, Container: g.id.Short()}
}

func (n *Node) overflow() Labels { return Labels{Container: metrics.Overflow} }

// room returns labels, or those of the overflow if there are too many others.
func (n *Node) room(l Labels) Labels {
	if _, ok := n.ended[l]; ok || l.Pod == "" || n.live(l) {
		return l
	}
	have := make(map[Labels]bool, len(n.ended)+len(n.groups))
	for l := range n.ended {
		have[l] = true
	}
	for _, g := range n.groups {
		if g.labeled {
			have[g.labels] = true
		}
	}
	if len(have) < metrics.MaxContainers {
		return l
	}
	if n.spilled++; n.spilled == 1 && n.Log != nil {
		n.Log.Warn("more containers with Go programs than have series of their own: the rest is one", "most", metrics.MaxContainers, "container", metrics.Overflow)
	}
	return n.overflow()
}

func (n *Node) live(l Labels) bool {
	for _, g := range n.groups {
		if g.labeled && g.labels == l {
			return true
		}
	}
	return false
}

// bury adds what a group used to what its labels keep.
func (n *Node) bury(g *group, now time.Time) {
	p := n.ended[g.labels]
	if p == nil {
		p = &past{}
		n.ended[g.labels] = p
	}
	p.add(&g.Counters)
	p.uid, p.last = g.id.UID, now
}

// readCgroup reads the cgroup of a group.
func (g *group) readCgroup(root *cgroups.Root) {
	if root == nil || g.id.Container == "" {
		return
	}
	if !g.found {
		if g.cgroup, g.found = root.Find(g.id.Container); !g.found {
			return
		}
	}
	if g.usage, g.hasUsage = g.cgroup.Read(); !g.hasUsage {
		return
	}
	if cpu := g.usage.CPU; cpu != nil {
		// The first reading has what was used before the agent looked.
		if g.lastCPU > 0 && *cpu > g.lastCPU {
			g.CgroupCPU += *cpu - g.lastCPU
		}
		g.lastCPU = *cpu
	}
}

// clean makes a text that comes from outside a label's value: valid UTF-8 without
// characters that are not printed, of a bounded length.
func clean(s string) string {
	if len(s) > metrics.MaxLabelBytes {
		s = strings.ToValidUTF8(s[:metrics.MaxLabelBytes], "")
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '_'
		}
		return r
	}, s)
}
