package gctrace

import (
	"bytes"
	"sync"
)

// Nearly always a line comes undisturbed: packet by packet, each just the next
// fragment of it, from its first to its last. Such a line needs no search, which
// would find this reading at no cost, and none cheaper. So the filter follows it
// by the machine alone, and remembers where the packets ended: should anything
// else come in between, the search reads them again and decides.

// straight is the undisturbed line that is all the filter holds.
type straight struct {
	ends  []int // of its packets in held; none: there is no such line
	state state
}

// followStraight takes the packet p in if it begins an undisturbed line or goes
// on with it. When it does not, all that is held has been through the search.
func (f *Filter) followStraight(p []byte) bool {
	s := &f.straight
	if len(s.ends) == 0 {
		// Behind a relay packets are not fragments.
		if f.Held() || f.relayed > 0 || !bytes.Equal(p, gcStart) {
			return false
		}
		prepareLines()
		s.state = stateStart
	}
	to, ok := fragment(s.state, p)
	if !ok {
		f.leaveStraight()
		return false
	}
	f.held = append(f.held, p...)
	s.ends = append(s.ends, len(f.held))
	s.state = to
	if !lines.info[to].done {
		return true
	}
	cycle, ok := f.cycle(f.held)
	if !ok {
		f.leaveStraight()
		return true
	}
	f.base += int64(len(f.held))
	f.taken += int64(len(f.held))
	f.held, s.ends = f.held[:0], s.ends[:0]
	f.count(true, &cycle)
	return true
}

// leaveStraight puts the line that is not undisturbed any more through the search.
func (f *Filter) leaveStraight() {
	s := &f.straight
	if len(s.ends) == 0 {
		return
	}
	held := append([]byte(nil), f.held...)
	ends := s.ends
	f.held, s.ends = f.held[:0], nil
	from := 0
	for _, end := range ends {
		f.take(held[from:end])
		from = end
	}
	s.ends = ends[:0]
}

// fragment returns the state after a line in state st went on with p, and whether
// p is just one fragment.
func fragment(st state, p []byte) (state, bool) {
	if info := &lines.info[st]; !info.edge && st != stateStart {
		return stateNone, false
	}
	first := lines.step(st, p[0])
	if lines.info[st].num && lines.info[first].num {
		return stateNone, false // a number that goes on was not written whole
	}
	frag := lines.info[first].frag
	var n digits
	for _, c := range p {
		st = lines.step(st, c)
		if st == stateNone || lines.info[st].frag != frag || !n.fit(st) {
			return stateNone, false
		}
	}
	return st, lines.info[st].edge
}

// isFragment reports whether p is a fragment of some line.
func isFragment(p []byte) bool {
	for _, st := range edges() {
		if _, ok := fragment(st, p); ok {
			return true
		}
	}
	return false
}

// edges returns the states in which a line may be interrupted, and what is
// before any line.
var edges = sync.OnceValue(func() []state {
	var all []state
	for s, info := range lines.info {
		if info.edge && !info.done || state(s) == stateStart {
			all = append(all, state(s))
		}
	}
	return all
})
