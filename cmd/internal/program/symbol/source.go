package symbol

import (
	"bytes"
	"io"

	"github.com/foliomem/folio/internal/base/input"
)

const (
	blockSize = 16 << 10
	// maxBlocks bounds what a file keeps in memory to 16 MiB, however large it
	// is and however many addresses are asked for. minBlocks may always be kept.
	maxBlocks, minBlocks = 1024, 8
	// chunkSize is a multiple of the sizes of the records that are read by
	// chunks, 16 and 24 bytes.
	chunkSize = 24 << 15
	// maxString is far above the longest name a linker writes; a name without
	// an end in a corrupt file must not become one of many megabytes.
	maxString = 64 << 10
)

// source reads a file by blocks and keeps some. It does not map the file: a
// program that is rebuilt while it is looked at would be shortened under the
// mapping, and reading that ends the process with SIGBUS.
type source struct {
	r      io.ReaderAt
	size   int64
	blocks map[int64][]byte
	budget *Budget
}

func newSource(r io.ReaderAt, size int64) *source {
	return &source{r: r, size: max(size, 0), blocks: make(map[int64][]byte), budget: NewBudget()}
}

// A Budget is what several files together may keep in memory and search. Files
// that were made to harm cannot be told from real ones, and there can be many.
// It must not be used by several goroutines at a time.
type Budget struct {
	memory, search int64 // what is left
	blocks         int64 // bytes of files that are kept now
}

// NewBudget returns a budget for all that one command looks at.
func NewBudget() *Budget { return BudgetOf(input.MaxKept, input.MaxSearch) }

// BudgetOf returns a budget of so many bytes in memory, and so many searched. Each file
// may keep 128 KiB beyond it.
func BudgetOf(memory, search int64) *Budget { return &Budget{memory: memory, search: search} }

// Renew allows so many bytes to be searched from now on. It is for what looks at files
// for ever: memory comes back as files are closed, searches do not.
func (b *Budget) Renew(search int64) { b.search = search }

// Kept is how many bytes of files are in memory, of those that share the budget.
func (b *Budget) Kept() int64 { return b.blocks }

func take(from *int64, n int64) bool {
	if *from < n {
		return false
	}
	*from -= n
	return true
}

// block returns the block that holds off, from off to its end. It is empty
// where the file ends or cannot be read.
func (s *source) block(off int64) []byte {
	if off < 0 || off >= s.size {
		return nil
	}
	at := off / blockSize * blockSize
	b, ok := s.blocks[at]
	if !ok {
		for old := range s.blocks {
			if len(s.blocks) < minBlocks || len(s.blocks) < maxBlocks && take(&s.budget.memory, blockSize) {
				break
			}
			delete(s.blocks, old) // any: the order of a map is random
			s.budget.blocks -= blockSize
			if len(s.blocks) >= minBlocks {
				s.budget.memory += blockSize
			}
		}
		b = make([]byte, min(blockSize, s.size-at))
		n, _ := s.r.ReadAt(b, at)
		b = b[:n]
		s.blocks[at] = b
		s.budget.blocks += blockSize
	}
	if off-at >= int64(len(b)) {
		return nil
	}
	return b[off-at:]
}

// forget drops all blocks.
func (s *source) forget() {
	s.budget.memory += int64(max(len(s.blocks)-minBlocks, 0)) * blockSize
	s.budget.blocks -= int64(len(s.blocks)) * blockSize
	s.blocks = make(map[int64][]byte)
}

// all is the span of the whole file.
func (s *source) all() span { return span{s, 0, s.size} }

// span is a part of a file. Reading outside of it gives nothing, so that a
// corrupt offset leads to "unknown" and never to a panic.
type span struct {
	s         *source
	off, size int64
}

// from returns the part of p from off to the end.
func (p span) from(off int64) span {
	if off < 0 || off > p.size {
		return span{p.s, p.off, 0}
	}
	return span{p.s, p.off + off, p.size - off}
}

// part returns n bytes of p from off, or what there is of them.
func (p span) part(off, n int64) span {
	q := p.from(off)
	q.size = max(0, min(q.size, n))
	return q
}

// at returns n bytes at off, nil if p does not hold them. They must not be
// changed. n is for records: below the size of a block.
func (p span) at(off, n int64) []byte {
	if off < 0 || n <= 0 || n > blockSize || off > p.size-n {
		return nil
	}
	b := p.s.block(p.off + off)
	if int64(len(b)) >= n {
		return b[:n]
	}
	if len(b) == 0 {
		return nil
	}
	rest := p.s.block(p.off + off + int64(len(b)))
	if int64(len(b)+len(rest)) < n {
		return nil
	}
	return append(bytes.Clone(b), rest[:n-int64(len(b))]...)
}

// text returns the string at off, which a zero ends.
func (p span) text(off int64) (string, bool) {
	var long []byte
	for p.size > off && off >= 0 && len(long) < maxString {
		b := p.s.block(p.off + off)
		if len(b) == 0 {
			break
		}
		b = b[:min(int64(len(b)), p.size-off)]
		if i := bytes.IndexByte(b, 0); i >= 0 {
			if long == nil {
				return string(b[:i]), true
			}
			return string(append(long, b[:i]...)), true
		}
		long = append(long, b...)
		off += int64(len(b))
	}
	return "", false
}

// chunks calls visit with successive pieces of p, which overlap by this many
// bytes so that nothing is cut in two, until visit returns false. They do not
// stay in memory: this is for going through a large part once. It returns false if
// visit did, or if p could not be read to its end: for an error, or because the budget
// is spent.
func (p span) chunks(overlap int, visit func(off int64, b []byte) bool) bool {
	buf := make([]byte, min(chunkSize, p.size))
	for off := int64(0); off < p.size; {
		if !take(&p.s.budget.search, int64(len(buf))) {
			return false
		}
		n, err := p.s.r.ReadAt(buf[:min(int64(len(buf)), p.size-off)], p.off+off)
		if n == 0 || !visit(off, buf[:n]) {
			return false
		}
		if off+int64(n) >= p.size {
			return true
		}
		if err != nil || n <= overlap {
			return false
		}
		off += int64(n - overlap)
	}
	return true
}

// cursor reads bytes one after the other.
type cursor struct {
	p   span
	off int64
	buf []byte
}

func (c *cursor) next() (byte, bool) {
	if len(c.buf) == 0 {
		if c.off >= c.p.size || c.off < 0 {
			return 0, false
		}
		b := c.p.s.block(c.p.off + c.off)
		c.buf = b[:min(int64(len(b)), c.p.size-c.off)]
		if len(c.buf) == 0 {
			return 0, false
		}
		c.off += int64(len(c.buf))
	}
	b := c.buf[0]
	c.buf = c.buf[1:]
	return b, true
}

func (c *cursor) uvarint() (uint32, bool) {
	var v uint32
	for shift := 0; shift < 35; shift += 7 {
		b, ok := c.next()
		if !ok {
			return 0, false
		}
		v |= uint32(b&0x7f) << shift
		if b < 0x80 {
			return v, true
		}
	}
	return 0, false
}
