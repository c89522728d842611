package goruntime

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/foliomem/folio/internal/base/input"
)

// spanBatch is how many spans are read together: their descriptions mostly follow each
// other in memory.
const spanBatch = 8 << 10

// readSpans reads all spans, and what they have in which pages.
func (t *Target) readSpans(h *Heap, f *heapFields, at uint64) error {
	for _, size := range t.l.SizeClasses() {
		h.Classes = append(h.Classes, Class{Size: size})
	}
	list, err := t.slice(at+f.spans.Offset, 8, input.MaxGoSpans)
	if err != nil {
		return err
	}
	pointers := make([]byte, 8*spanBatch)
	addrs := make([]uint64, 0, spanBatch)
	var used uint64
	for done := uint64(0); done < list.len; {
		n := min(list.len-done, spanBatch)
		if err := t.read(list.ptr+8*done, pointers[:8*n]); err != nil {
			return err
		}
		addrs = addrs[:0]
		for i := range n {
			addrs = append(addrs, binary.LittleEndian.Uint64(pointers[8*i:]))
		}
		if err := t.structures(addrs, f.span.Size, func(b []byte) error { return t.span(h, f, b, &used) }); err != nil {
			return err
		}
		done += n
	}
	for _, k := range h.kinds {
		switch k {
		case FreePage:
			h.Free += PageSize
		case ReleasedPage:
			h.Released += PageSize
		case StackPage:
			h.Stacks += PageSize
		case WorkPage:
			h.Work += PageSize
		}
	}
	return t.checkSpans(h, used)
}

// structures reads structures of one size at these addresses: those that are near each other
// as one piece, and many pieces at once. It may put the addresses in order.
func (t *Target) structures(addrs []uint64, size uint64, visit func(b []byte) error) error {
	const few = 16 // to a piece: then it is worth it to put them in order
	s := structures{size: size}
	if s.parts(addrs) > 1+len(addrs)/few {
		slices.Sort(addrs)
	}
	buf := make([]byte, structuresAtOnce)
	var pieces []piece
	var counts []int // of structures
	for len(addrs) > 0 {
		pieces, counts = pieces[:0], counts[:0]
		free := buf
		for at := addrs; len(at) > 0; {
			n := s.next(at)
			r := s.around(at[:n])
			if r.Len() > uint64(len(free)) {
				break
			}
			pieces = append(pieces, piece{r, free[:r.Len():r.Len()]})
			counts = append(counts, n)
			free, at = free[r.Len():], at[n:]
		}
		t.readAll(pieces, buf)
		for i, p := range pieces {
			if p.data == nil { // the reason is of one that is read by itself
				p.data = make([]byte, p.Len())
				if err := t.read(p.Start, p.data); err != nil {
					return err
				}
			}
			for _, at := range addrs[:counts[i]] {
				if err := visit(p.data[at-p.Start:][:size]); err != nil {
					return err
				}
			}
			addrs = addrs[counts[i]:]
		}
	}
	return nil
}

// structuresAtOnce is how much is read of structures by one call: what stays in the cache
// until it is looked at.
const structuresAtOnce = 64 << 10

// structures are of one size.
type structures struct{ size uint64 }

// next returns how many of the first are read as one piece: each is next to the one before,
// in either direction, or almost.
func (s structures) next(addrs []uint64) int {
	lo, hi := addrs[0], addrs[0]
	n := 1
	for ; n < len(addrs); n++ {
		at, last := addrs[n], addrs[n-1]
		lo, hi = min(lo, at), max(hi, at)
		if max(at, last)-min(at, last) > 2*s.size || hi-lo > mostPiece-s.size {
			break
		}
	}
	return n
}

// parts returns how many pieces they are.
func (s structures) parts(addrs []uint64) (n int) {
	for ; len(addrs) > 0; n++ {
		addrs = addrs[s.next(addrs):]
	}
	return n
}

// around is the memory of structures that are one piece.
func (s structures) around(addrs []uint64) Range {
	return Range{slices.Min(addrs), slices.Max(addrs) + s.size}
}

// span takes one span. Those that are being made or freed can look like anything: they
// are left out, and the check at the end says whether they are too many.
func (t *Target) span(h *Heap, f *heapFields, b []byte, used *uint64) error {
	state := number(b, f.state)
	if state != spanInUse && state != spanManual {
		if state == spanDead {
			return nil
		}
		return fmt.Errorf("%w: a span in state %d", ErrInconsistent, state)
	}
	start, pages, elem := number(b, f.start), number(b, f.pages), number(b, f.elem)
	if start%PageSize != 0 || pages == 0 || pages > input.MaxGoHeap/PageSize {
		return nil
	}
	kinds := h.Pages(Range{start, start + pages*PageSize})
	if kinds == nil {
		return nil
	}
	kind := StackPage
	switch class := int(number(b, f.class) >> 1); { // the last bit says that it has no pointers
	case state == spanManual && elem == 0:
		kind = WorkPage
	case state == spanManual:
	case class >= len(h.Classes):
		return fmt.Errorf("%w: a span of size class %d", ErrInconsistent, class)
	default:
		c := &h.Classes[class]
		kind = ObjectPage + PageKind(class)
		bytes := pages * PageSize
		c.Spans++
		c.Bytes += bytes
		c.Objects += min(number(b, f.count)*elem, bytes)
		*used += bytes
	}
	for i := range kinds {
		kinds[i] = kind
	}
	return nil
}

// checkSpans compares the spans with the statistics, which the runtime keeps apart from
// them.
func (t *Target) checkSpans(h *Heap, used uint64) error {
	s, err := t.Stats()
	if err != nil {
		return err
	}
	for _, c := range []struct {
		name      string
		have, say uint64
	}{
		{"the spans of objects", used, s.InHeap()}, {"the spans of stacks", h.Stacks, s.Stacks},
		{"the spans of the GC", h.Work, s.WorkBufs}, {"free pages", h.Free, s.Free}, {"released pages", h.Released, s.Released},
	} {
		if differ(c.have, c.say) {
			return fmt.Errorf("%w: %s have %d bytes, its statistics say %d", ErrInconsistent, c.name, c.have, c.say)
		}
	}
	return nil
}
