package node

import (
	"slices"
	"time"
)

// Memory is what a process has, in bytes; nil is not known.
type Memory struct {
	Anon, File, Shmem                              *uint64
	HeapResident, HeapHuge, HeapGain, HeapBloat    *uint64
	Live, Goal                                     *uint64
	GOGC, Limit                                    *float64 // +Inf: off, none
	counts                                         counts
	hasCounts                                      bool
	StatusKnown, HeapKnown, RuntimeKnown, BloatWas bool
}

// counts are what the runtime counts, and the CPU time of the process at that moment.
type counts struct {
	cycles    uint32
	allocated uint64
	cpu       time.Duration
}

// A Depth says how much a look costs.
type Depth int

const (
	Light Depth = iota // what the kernel counts and the runtime says
	Heap               // the windows of the heap, too
	Bloat              // and some of its memory
)

// A Looker reads the memory of a process. It updates m, and returns why a part could not
// be read, as one of the reasons of this package, and "" if all could.
type Looker interface {
	Look(p *Process, depth Depth, m *Memory) (reason string)
	Close(p *Process)
}

// How often processes are looked at. A look that took long is repeated later: looking at
// one process takes at most 1/share of a core.
const (
	settle     = 10 * time.Second // a process that lives for less is not looked at
	lookEvery  = 30 * time.Second
	heapEvery  = 4  // looks
	bloatEvery = 40 // looks
	share      = 2000
)

// Look looks at the process that is due first. ok is false if none is.
func (n *Node) Look() (ok bool) {
	if n.Looker == nil {
		return false
	}
	if len(n.looks) == 0 {
		return false
	}
	p := slices.MinFunc(n.looks, func(a, b *Process) int { return a.due.Compare(b.due) })
	begin := n.Now()
	if p.due.After(begin) {
		return false
	}
	depth := Light
	switch {
	case p.looked%bloatEvery == 1:
		depth = Bloat
	case p.looked%heapEvery == 0:
		depth = Heap
	}
	m := p.memory
	reason := n.Looker.Look(p, depth, &m)
	took := n.Now().Sub(begin)

	n.mu.Lock()
	defer n.mu.Unlock()
	if reason != "" {
		n.unreadable(reason)
	}
	if m.hasCounts && p.memory.hasCounts {
		last := p.memory.counts
		p.group.GCCycles += uint64(m.counts.cycles - last.cycles) // it wraps around
		if m.counts.allocated > last.allocated {
			p.group.Allocated += m.counts.allocated - last.allocated
			p.group.Allocating += max(m.counts.cpu-last.cpu, 0).Seconds()
		}
	}
	p.memory = m
	p.looked++
	p.due = begin.Add(max(lookEvery, share*took))
	return true
}

// Close lets go of all processes. What is known of them stays.
func (n *Node) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.looks {
		if !p.ended && n.Looker != nil {
			n.Looker.Close(p)
		}
	}
}

// LookAtCgroups reads the cgroups of all containers.
func (n *Node) LookAtCgroups() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, g := range n.groups {
		g.readCgroup(n.Cgroups)
	}
}
