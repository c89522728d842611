package goruntime

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sort"

	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/base/input"
)

// Constants of the runtime that are the same in all versions of the table on 64-bit
// Linux.
const (
	// PageSize is the unit of spans, in bytes (runtime.pageSize). It has nothing to do
	// with the pages of the system.
	PageSize = 8 << 10

	arenaBytes = 64 << 20 // heapArenaBytes
	chunkBytes = 4 << 20  // pallocChunkBytes
	chunkPages = chunkBytes / PageSize
	chunkBits  = 26 // bits of the number of a chunk: 48 of an address less 22

	spanDead, spanInUse, spanManual = 0, 1, 2 // mSpanState
)

// A PageKind says what the runtime has in a page of its heap.
type PageKind uint8

const (
	FreePage     PageKind = iota // in no span
	ReleasedPage                 // in no span, and returned to the OS
	StackPage                    // stacks of goroutines
	WorkPage                     // work buffers of the GC, and what else it manages by hand
	ObjectPage                   // objects: the size class is added
)

// Class returns the size class of a page with objects.
func (k PageKind) Class() int { return int(k) - int(ObjectPage) }

// Class is what the runtime has in spans of one size class, in bytes.
type Class struct {
	Size    uint64 // of an object; 0 for large objects, which have a span each
	Spans   uint64 // how many
	Bytes   uint64 // of the spans
	Objects uint64 // of the objects in them, dead ones that were not swept included
}

// Heap is the heap of a process as its page allocator and its spans have it.
type Heap struct {
	Arenas []Range // what the runtime has reserved, ascending
	InUse  []Range // of these, what its page allocator manages, ascending
	// Classes are by size class. Stacks, Work, Free and Released are bytes of the pages
	// of each kind.
	Classes                      []Class
	Stacks, Work, Free, Released uint64

	kinds  []PageKind // of all pages of InUse
	starts []int      // where in kinds each range begins
}

// NewHeap makes a heap of arenas of which these parts are in use, each a multiple of
// PageSize, with all pages free; ErrInconsistent if they are not in order.
func NewHeap(arenas, inUse []Range) (*Heap, error) {
	h := &Heap{Arenas: arenas, InUse: inUse}
	sum := uint64(0)
	for i, r := range inUse {
		if r.End <= r.Start || r.Start%PageSize != 0 || r.End%PageSize != 0 || !within(arenas, r) || i > 0 && r.Start < inUse[i-1].End {
			return nil, fmt.Errorf("%w: a part of the heap from %#x to %#x", ErrInconsistent, r.Start, r.End)
		}
		if sum += r.Len(); sum > input.MaxGoHeap {
			return nil, &input.TooLargeError{What: "its heap", Most: input.MaxGoHeap}
		}
		h.starts = append(h.starts, int((sum-r.Len())/PageSize))
	}
	h.kinds = make([]PageKind, sum/PageSize)
	return h, nil
}

// Pages returns the kinds of the pages of a range that lies in one of InUse, and begins
// with a page.
func (h *Heap) Pages(r Range) []PageKind {
	i := sort.Search(len(h.InUse), func(i int) bool { return h.InUse[i].End > r.Start })
	if i == len(h.InUse) || r.Start < h.InUse[i].Start || r.End > h.InUse[i].End || r.End < r.Start {
		return nil
	}
	from := h.starts[i] + int((r.Start-h.InUse[i].Start)/PageSize)
	return h.kinds[from : from+int(r.Len()/PageSize)]
}

// heapFields are where the heap is described.
type heapFields struct {
	heap, ranges, total, chunks, spans, arenas layout.Field
	rng, base, limit                           layout.Field
	chunk, scavenged                           layout.Field
	span, start, pages, count, class, state    layout.Field
	elem                                       layout.Field
	list                                       []layout.Field // of arenas
}

func (t *Target) heapFields() (f heapFields, err error) {
	for path, to := range map[string]*layout.Field{
		"mheap": &f.heap, "mheap.pages.inUse.ranges": &f.ranges, "mheap.pages.inUse.totalBytes": &f.total,
		"mheap.pages.chunks": &f.chunks, "mheap.allspans": &f.spans, "mheap.arenas": &f.arenas,
		"addrRange": &f.rng, "addrRange.base": &f.base, "addrRange.limit": &f.limit,
		"pallocData": &f.chunk, "pallocData.scavenged": &f.scavenged,
		"mspan": &f.span, "mspan.startAddr": &f.start, "mspan.npages": &f.pages, "mspan.allocCount": &f.count,
		"mspan.spanclass": &f.class, "mspan.state": &f.state, "mspan.elemsize": &f.elem,
	} {
		*to = t.field(path)
	}
	for _, path := range []string{"mheap.allArenas", "mheap.heapArenas", "mheap.userArenaArenas"} { // Go 1.25 has divided them
		if one, ok := t.l.Field(path); ok {
			f.list = append(f.list, one)
		}
	}
	if err := t.lacks(); err != nil {
		return f, err
	}
	if len(f.list) == 0 || f.span.Size > 4096 || f.chunk.Size > 4096 || f.scavenged.Size != chunkPages/8 || f.arenas.Size != 8 {
		return f, fmt.Errorf("the heap of %s: %w", t.l.Version, layout.ErrUnknown)
	}
	return f, nil
}

// Heap reads what is in each page of the heap, which takes a description of each span, and
// keeps a byte for each page. A heap that contradicts itself, also because it
// changes too much while it is read, is an [ErrInconsistent].
func (t *Target) Heap() (*Heap, error) {
	const tries = 3
	f, err := t.heapFields()
	if err != nil {
		return nil, err
	}
	for range tries {
		var h *Heap
		t.begin()
		if h, err = t.heap(&f); err == nil || !errors.Is(err, ErrInconsistent) {
			return h, err
		}
	}
	return nil, err
}

func (t *Target) heap(f *heapFields) (*Heap, error) {
	at := t.at.MHeap + t.moved
	arenas, err := t.readArenas(f, at)
	if err != nil {
		return nil, err
	}
	h, err := t.readRanges(f, at, arenas)
	if err != nil {
		return nil, err
	}
	if err := t.readReleased(h, f, at); err != nil {
		return nil, err
	}
	if err := t.readCaches(h); err != nil {
		return nil, err
	}
	return h, t.readSpans(h, f, at)
}

// Arenas returns the address space that the runtime has for its heap, in memory or not,
// ascending.
func (t *Target) Arenas() ([]Range, error) {
	t.begin()
	f, err := t.heapFields()
	if err != nil {
		return nil, err
	}
	return t.readArenas(&f, t.at.MHeap+t.moved)
}

// readArenas reads the list of arenas.
func (t *Target) readArenas(f *heapFields, at uint64) (all []Range, err error) {
	for _, list := range f.list {
		s, err := t.slice(at+list.Offset, 8, input.MaxGoHeap/arenaBytes)
		if err != nil {
			return nil, err
		}
		b := make([]byte, 8*s.len)
		if err := t.read(s.ptr, b); err != nil && s.len > 0 {
			return nil, err
		}
		for ; len(b) >= 8; b = b[8:] {
			start := binary.LittleEndian.Uint64(b)*arenaBytes + t.base
			if start > 1<<48-arenaBytes {
				return nil, fmt.Errorf("%w: an arena at %#x", ErrInconsistent, start)
			}
			all = append(all, Range{start, start + arenaBytes})
		}
	}
	return joined(all), nil
}

// joined returns ranges in order, those that touch or overlap as one.
func joined(all []Range) []Range {
	slices.SortFunc(all, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	out := all[:0]
	for _, r := range all {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}

// within reports whether one of these ranges, which are in order, has all of r.
func within(all []Range, r Range) bool {
	i := sort.Search(len(all), func(i int) bool { return all[i].End > r.Start })
	return i < len(all) && all[i].Start <= r.Start && r.End <= all[i].End
}

// readRanges reads what the page allocator manages.
func (t *Target) readRanges(f *heapFields, at uint64, arenas []Range) (*Heap, error) {
	const most = 1 << 16
	s, err := t.slice(at+f.ranges.Offset, f.rng.Size, most)
	if err != nil {
		return nil, err
	}
	total, err := t.word(at + f.total.Offset)
	if err != nil {
		return nil, err
	}
	b := make([]byte, s.len*f.rng.Size)
	if err := t.read(s.ptr, b); err != nil && s.len > 0 {
		return nil, err
	}
	var parts []Range
	sum := uint64(0)
	for ; uint64(len(b)) >= max(f.rng.Size, 1); b = b[f.rng.Size:] {
		r := Range{number(b, f.base), number(b, f.limit)}
		if r.Start%chunkBytes != 0 || r.End%chunkBytes != 0 {
			return nil, fmt.Errorf("%w: a part of the heap from %#x to %#x", ErrInconsistent, r.Start, r.End)
		}
		parts = append(parts, r)
		sum += r.End - r.Start
	}
	if sum != total {
		return nil, fmt.Errorf("%w: the parts of its heap have %d bytes, not %d", ErrInconsistent, sum, total)
	}
	return NewHeap(arenas, parts)
}

// readReleased reads which pages were returned to the OS.
func (t *Target) readReleased(h *Heap, f *heapFields, at uint64) error {
	first := make([]byte, f.chunks.Size)
	if f.chunks.Size > 1<<20 || f.chunks.Size%8 != 0 {
		return fmt.Errorf("the chunks of the heap: %w", layout.ErrUnknown)
	}
	if err := t.read(at+f.chunks.Offset, first); err != nil {
		return err
	}
	lists := f.chunks.Size / 8 // a power of two
	perList := uint64(1) << chunkBits / lists
	var b []byte
	for _, r := range h.InUse {
		for from := r.Start; from < r.End; {
			number := (from - t.base) / chunkBytes
			n := min((r.End-from)/chunkBytes, perList-number%perList)
			if number/perList >= lists {
				return fmt.Errorf("%w: chunk %d", ErrInconsistent, number)
			}
			list := binary.LittleEndian.Uint64(first[8*(number/perList):])
			b = slices.Grow(b[:0], int(n*f.chunk.Size))[:n*f.chunk.Size]
			if err := t.read(list+number%perList*f.chunk.Size, b); err != nil {
				return err
			}
			for i := range n {
				bits := b[i*f.chunk.Size+f.scavenged.Offset:][:chunkPages/8]
				kinds := h.Pages(Range{from + i*chunkBytes, from + (i+1)*chunkBytes})
				for page := range kinds {
					// Bitmaps are of words, whose bytes are in the order of the processor.
					if binary.LittleEndian.Uint64(bits[page/64*8:])>>(page%64)&1 != 0 {
						kinds[page] = ReleasedPage
					}
				}
			}
			from += n * chunkBytes
		}
	}
	return nil
}

// readCaches reads which pages processors (P) keep for themselves: those are free, and
// where they were returned to the OS the bitmaps do not say it.
func (t *Target) readCaches(h *Heap) error {
	cache, base, scav := t.field("p.pcache"), t.field("pageCache.base"), t.field("pageCache.scav")
	if err := t.lacks(); err != nil {
		return err
	}
	ps, err := t.processors()
	if err != nil {
		return err
	}
	b := make([]byte, 24)
	for _, p := range ps {
		if err := t.read(p+cache.Offset, b); err != nil {
			return err
		}
		start, bits := number(b, base), number(b, scav)
		kinds := h.Pages(Range{start, start + 64*PageSize})
		for i := range kinds {
			if bits>>i&1 != 0 {
				kinds[i] = ReleasedPage
			}
		}
	}
	return nil
}
