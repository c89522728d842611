package node

import (
	"slices"

	"github.com/foliomem/folio/cmd/fleet/internal/metrics"
)

// samples are counts of samples by memory class.
type samples struct {
	classes [classes]uint32
	all     uint32
}

func (s *samples) add(o *samples) {
	for i, v := range o.classes {
		s.classes[i] += v
	}
	s.all += o.all
}

// Process returns the Go process with a number, nil if it is of another program.
func (n *Node) Process(pid int) *Process {
	if e := n.table[pid]; e != nil {
		return e.proc
	}
	return nil
}

// Sampled says that a process was seen to spend time on a class.
func (p *Process) Sampled(class string) {
	p.fresh.all++
	if i := slices.Index(metrics.MemoryClasses, class); i >= 0 {
		p.fresh.classes[i]++
	}
}

// Settle ends a window: the CPU time that processes used since they last had samples is
// divided by those that they have now. kernel says that samples have the kernel's side.
// Call Scan before: what is not seen to be of the same process does not count.
func (n *Node) Settle(kernel bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.kernel = kernel
	for _, e := range n.table {
		if e.proc != nil {
			e.proc.settle(kernel)
		}
	}
}

func (p *Process) settle(kernel bool) {
	if p.sure.all == 0 {
		return
	}
	all := (p.pendingUser + p.pendingSys).Seconds()
	seen := all
	if !kernel {
		seen = p.pendingUser.Seconds() // samples are of that alone
	}
	p.group.Sampled += all
	for i, v := range p.sure.classes {
		p.group.Tax[i] += seen * float64(v) / float64(p.sure.all)
	}
	p.pendingUser, p.pendingSys, p.sure = 0, 0, samples{}
}
