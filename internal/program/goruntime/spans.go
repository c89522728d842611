package goruntime

import (
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
			addrs = append(addrs, t.order.Uint64(pointers[8*i:]))
		}
		slices.Sort(addrs)
		err := t.structures(addrs, f.span.Size, func(b []byte) error { return t.span(h, f, b, &used) })
		if err != nil {
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

// structures reads structures of one size at addresses that are in order: those that are
// near each other at once.
func (t *Target) structures(addrs []uint64, size uint64, visit func(b []byte) error) error {
	const together = 64 << 10
	buf := make([]byte, together)
	for len(addrs) > 0 {
		n := 1
		for n < len(addrs) && addrs[n]-addrs[n-1] <= 2*size && addrs[n]+size-addrs[0] <= together {
			n++
		}
		b := buf[:addrs[n-1]+size-addrs[0]]
		if err := t.read(addrs[0], b); err != nil {
			return err
		}
		for _, at := range addrs[:n] {
			if err := visit(b[at-addrs[0]:][:size]); err != nil {
				return err
			}
		}
		addrs = addrs[n:]
	}
	return nil
}

// span takes one span. Those that are being made or freed can look like anything: they
// are left out, and the check at the end says whether they are too many.
func (t *Target) span(h *Heap, f *heapFields, b []byte, used *uint64) error {
	state := t.number(b, f.state)
	if state != spanInUse && state != spanManual {
		if state == spanDead {
			return nil
		}
		return fmt.Errorf("%w: a span in state %d", ErrInconsistent, state)
	}
	start, pages, elem := t.number(b, f.start), t.number(b, f.pages), t.number(b, f.elem)
	if start%PageSize != 0 || pages == 0 || pages > input.MaxGoHeap/PageSize {
		return nil
	}
	kinds := h.Pages(Range{start, start + pages*PageSize})
	if kinds == nil {
		return nil
	}
	kind := StackPage
	switch class := int(t.number(b, f.class) >> 1); { // the last bit says that it has no pointers
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
		c.Objects += min(t.number(b, f.count)*elem, bytes)
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
