package gctrace

import (
	"cmp"
	"slices"
)

// prune drops from the group what cannot or need not win.
func (f *Filter) prune() {
	if len(f.dead) > 0 {
		for _, h := range f.group {
			for i := len(h.lines) - 1; i >= 0; i-- {
				if slices.Contains(f.dead, h.lines[i].start) {
					h.abandon(i)
				}
			}
		}
	}
	f.group = f.best(f.group)
}

// best sorts readings of the same bytes, best first, and keeps the first few.
// Of those with the same lines in the same states it keeps only the cheapest: the
// future treats them alike.
func (f *Filter) best(hyps []*hyp) []*hyp {
	if len(hyps) < 2 {
		return hyps
	}
	slices.SortStableFunc(hyps, func(a, b *hyp) int {
		return cmp.Or(cmp.Compare(a.cost, b.cost), cmp.Compare(len(a.lines), len(b.lines)))
	})
	var keys [maxHypotheses]uint64
	kept, work := hyps[:0], 0
	limit := hyps[0].cost + cleanMargin
	if f.relayed > 0 || slices.ContainsFunc(hyps[0].lines, func(l open) bool { return !l.clean }) {
		limit += relayMargin - cleanMargin
	}
	for _, h := range hyps {
		key := h.key()
		// The first reading may have any number of lines.
		work += len(h.lines)
		if len(kept) == maxHypotheses || work > maxWork && len(kept) > 0 || h.cost > limit || slices.Contains(keys[:len(kept)], key) {
			f.discard(h)
			continue
		}
		keys[len(kept)] = key
		kept = append(kept, h)
	}
	return kept
}

// key is the same for readings that the future treats alike. It does not
// depend on the order of the lines.
func (h *hyp) key() uint64 {
	var key uint64
	for i := range h.lines {
		l := &h.lines[i]
		k := uint64(l.state) << 2
		if l.clean {
			k |= 1
			if info := &lines.info[l.state]; info.num {
				// However it was written, it is whole, and the same follows.
				k = uint64(len(lines.info)+int(info.frag))<<2 | 1
			}
		}
		if l.cut {
			k |= 2
		}
		k = (k + 1) * 0x9e3779b97f4a7c15
		k ^= k >> 29
		if l.joined && !l.clean {
			k ^= 1 << 60
		}
		key += k * 0xbf58476d1ce4e5b9
	}
	if h.seam {
		key ^= 1
	}
	return key
}
