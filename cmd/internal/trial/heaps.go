package trial

import (
	"cmp"
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
)

// heaps are the heaps of the processes of a trial. A trace line tells its time since the
// start of its process, to the millisecond, but neither which process that is nor when it
// started, and it is read up to some 40 ms after the cycle.
//
// Cycles are told apart by their numbers, which count up in each process. No line is read
// before its cycle has ended: so a process started at the latest at the smallest
// difference between when a line of it was read and the time that the line tells.
type heaps struct {
	all    []*heap
	byLast map[int][]*heap // by the number of the last cycle
}

// heap is that of one process.
type heap struct {
	last   int           // number of the last cycle
	ended  time.Duration // when it ended, on the clock of the process
	zero   time.Duration // the latest that the process can have started
	cycles moments       // on the clock of the process
	phases []phases      // the same, the last of them
	cut    bool          // there were more
}

// phases are those of a GC cycle: the world is stopped in the first and in the last.
type phases struct {
	end                       time.Duration
	sweepTerm, mark, markTerm time.Duration
	assists                   bool // took a part of it: see assistShare
}

const (
	// mostPhases is how many cycles of a process are kept with their phases: some minutes of
	// a program that does hardly anything else.
	mostPhases = 50_000
	// assistShare is the part of the time of a cycle that assists take of one CPU, at least,
	// in what is called a cycle with assists: nearly all have some.
	assistShare = 0.1
)

// add takes in a cycle whose line was read at a time.
func (h *heaps) add(c gctrace.Cycle, read time.Duration) {
	end := c.At + c.SweepTermClock + c.MarkClock + c.MarkTermClock
	p := h.of(c, read-end)
	end = max(end, p.ended) // it was rounded down
	p.zero = min(p.zero, read-end)
	p.last, p.ended = c.N, end
	p.cycles.add(momentOf(end, &c))
	p.phases = append(p.phases, phases{end, c.SweepTermClock, c.MarkClock, c.MarkTermClock,
		c.AssistCPU > 0 && float64(c.AssistCPU) >= assistShare*float64(c.MarkClock)})
	if len(p.phases) > mostPhases {
		p.phases, p.cut = p.phases[1:], true
	}
	h.byLast[c.N] = append(h.byLast[c.N], p)
}

// of returns the process of a cycle, out of byLast: the one that is at the number before
// and fits best by its start, or a new one.
func (h *heaps) of(c gctrace.Cycle, zero time.Duration) *heap {
	const rounding = 2 * time.Millisecond
	var best *heap
	for _, p := range h.byLast[c.N-1] {
		if c.At+rounding >= p.ended && (best == nil || (zero-p.zero).Abs() < (zero-best.zero).Abs()) {
			best = p
		}
	}
	if best == nil {
		if h.byLast == nil {
			h.byLast = make(map[int][]*heap)
		}
		best = &heap{zero: zero}
		h.all = append(h.all, best)
		return best
	}
	h.byLast[c.N-1] = slices.DeleteFunc(h.byLast[c.N-1], func(p *heap) bool { return p == best })
	return best
}

// startLag is how late the first lines of a process are read at most, as a rule.
const startLag = 50 * time.Millisecond

// cycles returns the GC cycles of all processes in the order of time.
// running is when the program ran at the latest: a program that is in Go started then,
// give or take a millisecond. For other processes it is the latest possible time.
func (h *heaps) cycles(isGo bool, running time.Duration) Cycles {
	if isGo && len(h.all) > 0 {
		root := slices.MinFunc(h.all, func(a, b *heap) int { return cmp.Compare(a.zero, b.zero) })
		if root.zero < running+startLag {
			root.zero = min(root.zero, running)
		}
	}
	for _, p := range h.all {
		p.zero = max(p.zero, 0)
	}
	var all []moment
	each := 1
	for _, p := range h.all {
		each = max(each, p.cycles.stride)
		for _, m := range p.cycles.all {
			m.at += p.zero
			all = append(all, m)
		}
	}
	slices.SortStableFunc(all, func(a, b moment) int { return cmp.Compare(a.at, b.at) })
	var out moments
	for _, m := range all {
		out.add(m)
	}
	out.stride *= each
	return out.columns()
}
