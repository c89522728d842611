package node

import (
	"cmp"
	"slices"

	"github.com/foliomem/folio/cmd/fleet/internal/pod"
)

// A Running is a Go process of a container.
type Running struct {
	Labels
	PID int
	p   *Process
}

// ID is the container that it is in.
func (r Running) ID() pod.ID { return r.p.group.id }

// Running returns the Go processes of pods, those with the most live heap first.
func (n *Node) Running() (out []Running) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.groups {
		if !g.labeled || g.labels.Pod == "" {
			continue
		}
		for p := range g.processes {
			out = append(out, Running{g.labels, p.PID, p})
		}
	}
	live := func(r Running) uint64 {
		if r.p.memory.Live == nil {
			return 0
		}
		return *r.p.memory.Live
	}
	slices.SortFunc(out, func(a, b Running) int { return cmp.Or(cmp.Compare(live(b), live(a)), cmp.Compare(a.PID, b.PID)) })
	return out
}

// Same reports whether a process is still the one that it was.
func (n *Node) Same(r Running) bool {
	st, err := n.FS.Stat(r.PID)
	if err != nil || st.StartTime != r.p.start {
		return false
	}
	id, err := statProgram(n.FS.ExePath(r.PID))
	return err == nil && id == r.p.file
}
