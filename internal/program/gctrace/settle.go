package gctrace

import (
	"math"
	"slices"
)

// settle decides on as much of the held bytes as is clear.
func (f *Filter) settle() {
	best := f.hyps[0]
	if len(best.lines) == 0 && !f.wait(best) {
		f.commit(best)
		return
	}
	if len(f.held) < f.trimAt {
		return
	}
	if len(f.held) > maxHeld/2 {
		// Further doubt is a luxury. But do not decide in the middle of one if
		// a few packets more may resolve it.
		if len(f.held) > maxHeld*3/4 || len(f.hyps) > 1 && f.hyps[1].cost > best.cost+ambiguityMargin {
			f.decide()
		}
	}
	f.trim()
	for len(f.held) > maxHeld {
		f.decide()
		if len(best.lines) == 0 {
			f.commit(best)
			return
		}
		oldest := 0
		for i := range best.lines {
			if best.lines[i].start < best.lines[oldest].start {
				oldest = i
			}
		}
		if l := &best.lines[oldest]; f.ending(best, l).drop {
			f.gone = append(f.gone, l.start)
			best.forget(oldest)
		} else {
			best.abandon(oldest)
		}
		f.trim()
	}
	f.trimAt = max(trimFrom, min(2*len(f.held), len(f.held)+trimFrom))
}

// wait reports whether a reading is so close to best, which has no incomplete
// line, that the decision has to wait: one with an interrupted line of a relay,
// which looks much like text at first.
func (f *Filter) wait(best *hyp) bool {
	for _, h := range f.hyps[1:] {
		if h.cost > best.cost+relayPatience {
			break
		}
		for i := range h.lines {
			if l := &h.lines[i]; l.cut && !l.clean {
				return true
			}
		}
	}
	return false
}

// decide drops all readings but the best.
func (f *Filter) decide() {
	for _, h := range f.hyps[1:] {
		f.discard(h)
	}
	f.hyps = f.hyps[:1]
}

// commit acts on reading h of all held bytes.
func (f *Filter) commit(h *hyp) {
	f.settleUpTo(h.tail, f.base+int64(len(f.held)))
	for _, h := range f.hyps {
		f.discard(h)
	}
	f.hyps = f.hyps[:0]
	f.dead, f.gone = f.dead[:0], f.gone[:0]
	f.trimAt = trimFrom
}

// trim settles the bytes on which all readings agree for good: those before
// the oldest line that one of them has not finished, and before the place where
// the readings part.
func (f *Filter) trim() {
	common := f.hyps[0].tail
	for _, h := range f.hyps[1:] {
		common = ancestor(common, h.tail)
	}
	upTo := f.base + int64(len(f.held))
	undecided := make(map[int64]bool)
	for _, h := range f.hyps {
		for n := h.tail; n != common; n = n.prev {
			upTo = min(upTo, n.start)
			undecided[n.line] = true
		}
		for _, l := range h.lines {
			upTo = min(upTo, l.start)
		}
	}
	for n := common; n != nil; n = n.prev {
		if n.done {
			undecided[n.line] = false
		} else if undecided[n.line] {
			upTo = min(upTo, n.start)
		}
	}
	f.settleUpTo(common, upTo)
	var last *node
	for n := common; n != nil && n.start >= upTo; n = n.prev {
		last = n
	}
	if last != nil {
		last.prev = nil
		return
	}
	// All common nodes are settled: the readings begin anew.
	for _, h := range f.hyps {
		if h.tail == common {
			h.tail = nil
			continue
		}
		n := h.tail
		for n.prev != common && n.prev != nil { // nil: another reading shares it
			n = n.prev
		}
		n.prev = nil
	}
}

// ancestor returns the latest node that is in both chains, or nil.
func ancestor(a, b *node) *node {
	offset := func(n *node) int64 {
		if n == nil {
			return math.MinInt64
		}
		return n.end
	}
	for a != b {
		switch x, y := offset(a), offset(b); {
		case x > y:
			a = a.prev
		case y > x:
			b = b.prev
		default:
			a, b = a.prev, b.prev
		}
	}
	return a
}

// settleUpTo passes the text before offset upTo on and counts the lines that end
// before it, by the chain of nodes that ends with tail. Pieces of incomplete
// lines are text, but for those that are gone.
func (f *Filter) settleUpTo(tail *node, upTo int64) {
	complete := make(map[int64]bool)
	for _, line := range f.gone {
		complete[line] = true
	}
	f.chain = f.chain[:0]
	for n := tail; n != nil; n = n.prev {
		if n.done {
			complete[n.line] = true
		}
		if n.start < upTo && complete[n.line] {
			f.chain = append(f.chain, n)
		}
	}
	// Close the gaps in place and write what remains in one go.
	text := f.held[:0]
	pos := f.base
	for _, n := range slices.Backward(f.chain) {
		text = append(text, f.held[pos-f.base:n.start-f.base]...)
		pos = n.end
		f.taken += n.end - n.start
		if slices.Contains(f.gone, n.line) {
			f.dropped += n.end - n.start
		}
	}
	text = append(text, f.held[pos-f.base:upTo-f.base]...)
	f.pass(text)
	for _, n := range slices.Backward(f.chain) {
		if n.done {
			f.count(n.clean, n.cycle)
		}
	}
	rest := copy(f.held, f.held[upTo-f.base:])
	f.held = f.held[:rest]
	f.base = upTo
	f.chain = f.chain[:0]
}

// count counts a line that was taken out. Its cycle is nil if it is one of the
// scavenger.
func (f *Filter) count(clean bool, cycle *Cycle) {
	f.relayed = max(f.relayed-1, 0)
	f.direct++
	if !clean {
		f.relayed, f.direct = relayMemory, 0
	}
	if cycle == nil {
		return
	}
	const mostProcesses = 4096
	if delete(f.last, cycle.N-1); len(f.last) >= mostProcesses {
		clear(f.last)
	}
	f.last[cycle.N] = cycle.At
	if f.opts.OnCycle != nil {
		f.opts.OnCycle(*cycle)
	}
}
