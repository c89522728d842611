package goruntime

import (
	"cmp"
	"slices"
	"sort"
)

// A batch is memory of a process that is read in few pieces: what lies near to each other
// is read at once. A goroutine takes three system calls by itself, and a thousand take as
// many milliseconds.
type batch struct {
	t      *Target
	want   []Range
	pieces []piece
	buf    []byte
}

// A piece is memory that was read; without data it could not be.
type piece struct {
	Range
	data []byte
}

const (
	// near is how far apart ranges may be that are read together, and mostPiece how much
	// is read at once: what cannot be read of a piece makes all of it missing.
	near      = 4 << 10
	mostPiece = 64 << 10
)

// newBatch makes a batch of at most so many bytes.
func newBatch(t *Target, size int) *batch { return &batch{t: t, buf: make([]byte, size)} }

// clear forgets what was wanted and read.
func (b *batch) clear() { b.want, b.pieces = b.want[:0], b.pieces[:0] }

// add has a range read. Addresses that wrap around are left out.
func (b *batch) add(at, size uint64) {
	if at+size > at {
		b.want = append(b.want, Range{at, at + size})
	}
}

// read reads what was added. What cannot be read, or has no room, is missing in it: whoever
// asks for it alone is told why.
func (b *batch) read() {
	slices.SortFunc(b.want, func(a, b Range) int { return cmp.Compare(a.Start, b.Start) })
	b.pieces = b.pieces[:0]
	free := b.buf
	for i := 0; i < len(b.want); {
		r := b.want[i]
		for i++; i < len(b.want); i++ {
			end := max(r.End, b.want[i].End)
			if next := b.want[i].Start; next > r.End && next-r.End > near || end-r.Start > mostPiece {
				break
			}
			r.End = end
		}
		if r.Len() > uint64(len(free)) {
			continue
		}
		b.pieces = append(b.pieces, piece{r, free[:r.Len():r.Len()]})
		free = free[r.Len():]
	}
	b.t.readAll(b.pieces, b.buf)
}

// readAll reads pieces, whose data follow each other in buf. One that cannot be read loses its
// data.
func (t *Target) readAll(pieces []piece, buf []byte) {
	size := int64(0)
	for _, p := range pieces {
		size += int64(p.Len())
	}
	if t.pid != 0 && t.reads >= int64(len(pieces)) && t.bytes >= size && t.readPieces(pieces, buf) {
		t.reads -= int64(len(pieces))
		t.bytes -= size
		return
	}
	for i := range pieces {
		if p := &pieces[i]; p.data != nil && t.read(p.Start, p.data) != nil {
			p.data = nil
		}
	}
}

// at returns the memory of a range, nil if it was not read.
func (b *batch) at(at, size uint64) []byte {
	i := sort.Search(len(b.pieces), func(i int) bool { return b.pieces[i].Start > at })
	for i--; i >= 0 && at-b.pieces[i].Start <= mostPiece; i-- { // pieces can overlap
		if p := b.pieces[i]; p.data != nil && at+size <= p.End && at+size >= at {
			return p.data[at-p.Start:][:size]
		}
	}
	return nil
}
