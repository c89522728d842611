package tunejob

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/foliomem/folio/cmd/fleet/internal/rounds"
)

// A Node is what was measured on one.
type Node struct {
	Name   string      `json:"name"`
	CPU    string      `json:"cpu,omitempty"`
	Rounds []NodeRound `json:"rounds"`
	// Lost says why rounds do not count, Out which settings were left out, by their index,
	// Failed why pods gave up.
	Lost   []string       `json:"lost,omitempty"`
	Out    map[int]string `json:"left_out,omitempty"`
	Failed []string       `json:"failed,omitempty"`
}

// A NodeRound is a whole round.
type NodeRound struct {
	Pod  string       `json:"pod"`
	N    int          `json:"round"`
	Runs []rounds.Run `json:"runs"`
}

// nodes gathers what pods say. A pod says its rounds again when its container is started
// again, and when its log is read again: each counts once.
type nodes struct {
	mu   sync.Mutex
	all  map[string]*Node
	seen map[string]bool
}

func newNodes() *nodes { return &nodes{all: make(map[string]*Node), seen: make(map[string]bool)} }

// mostReasons bounds what is kept of each kind of reason.
const mostReasons = 20

// add takes a line of a pod.
func (n *nodes) add(pod, uid, node string, l rounds.Line, settings int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if key := fmt.Sprintf("%s %s %d %d", uid, l.Kind, l.Round, l.Setting); n.seen[key] {
		return
	} else if l.Kind != rounds.Begin {
		n.seen[key] = true
	}
	at := n.all[node]
	if at == nil {
		at = &Node{Name: node}
		n.all[node] = at
	}
	note := func(to []string, text string) []string {
		if len(to) >= mostReasons || text == "" {
			return to
		}
		return append(to, text)
	}
	switch l.Kind {
	case rounds.Begin:
		at.CPU = l.CPU
	case rounds.Round:
		runs := slices.DeleteFunc(l.Runs, func(r rounds.Run) bool {
			return r.Setting < 0 || r.Setting >= settings || r.Failure == "" && !(r.Metric > 0)
		})
		if len(at.Rounds) < rounds.MostRounds {
			at.Rounds = append(at.Rounds, NodeRound{Pod: pod, N: l.Round, Runs: runs})
		}
	case rounds.Lost:
		at.Lost = note(at.Lost, l.Reason)
	case rounds.Killed:
		at.Lost = note(at.Lost, fmt.Sprintf("the container was killed in round %d, while setting %d ran", l.Round, l.Setting))
	case rounds.Failed:
		at.Failed = note(at.Failed, l.Reason)
	case rounds.Out:
		if l.Setting > 0 && l.Setting < settings {
			if at.Out == nil {
				at.Out = make(map[int]string)
			}
			at.Out[l.Setting] = l.Reason
		}
	}
}

// lose says of a pod that is gone what it took along.
func (n *nodes) lose(node, reason string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if at := n.all[node]; at != nil && len(at.Lost) < mostReasons {
		at.Lost = append(at.Lost, reason)
	}
}

// list returns a copy, by name.
func (n *nodes) list() []*Node {
	n.mu.Lock()
	defer n.mu.Unlock()
	var out []*Node
	for _, node := range n.all {
		c := *node
		c.Rounds, c.Lost, c.Failed = slices.Clone(node.Rounds), slices.Clone(node.Lost), slices.Clone(node.Failed)
		slices.SortFunc(c.Rounds, func(a, b NodeRound) int { return cmp.Or(cmp.Compare(a.Pod, b.Pod), cmp.Compare(a.N, b.N)) })
		out = append(out, &c)
	}
	slices.SortFunc(out, func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// full is how many nodes have so many rounds.
func (n *nodes) full(want int) (full, all int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, node := range n.all {
		all += len(node.Rounds)
		if len(node.Rounds) >= want {
			full++
		}
	}
	return full, all
}
