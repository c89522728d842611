// Package executable opens the programs of others: ELF files that may have been made
// to harm whoever looks at them. Package debug/elf reads and unpacks what a file
// claims to have; here the claims are checked before it does, against the bounds of
// package input.
package executable

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/foliomem/folio/internal/base/input"
)

var (
	// ErrNotELF says that a file is not an ELF file.
	ErrNotELF  = errors.New("not an ELF file")
	errCut     = errors.New("not a whole ELF file: it is cut off in the header")
	errCorrupt = errors.New("the header is corrupt")
)

// New reads the headers of an ELF file of this size. Some programs are shipped with
// section headers that are cut off or overwritten, and run all the same: the kernel
// does not look at them. They are then without sections here too, as are files that
// claim more of them than any program has. The reader that it returns is the file as
// it is to be read.
func New(r io.ReaderAt, size int64) (*elf.File, io.ReaderAt, error) {
	h, err := readHeader(r, size)
	if err != nil {
		return nil, nil, err
	}
	if err := h.segments(); err != nil {
		return nil, nil, err
	}
	whole := io.NewSectionReader(r, 0, size)
	if h.sections() == nil {
		if f, err := elf.NewFile(whole); err == nil {
			return f, whole, nil
		}
	}
	short := overlay{whole, h.withoutSections()}
	f, err := elf.NewFile(short)
	if err != nil {
		return nil, nil, fmt.Errorf("corrupt ELF file: %w", err)
	}
	return f, short, nil
}

// header is the beginning of the file, and what it says.
type header struct {
	r     io.ReaderAt
	size  int64
	order binary.ByteOrder
	b     []byte
	wide  bool // 64 bits
	// where they are, how large one is, how many there are
	phoff, shoff                             uint64
	phsize, phnum, shsize, shnum, namesIndex uint64
}

func readHeader(r io.ReaderAt, size int64) (*header, error) {
	h := &header{r: r, size: size, b: make([]byte, 64)}
	n, err := io.NewSectionReader(r, 0, size).ReadAt(h.b, 0)
	if n < 4 || !bytes.HasPrefix(h.b, []byte(elf.ELFMAG)) {
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		return nil, ErrNotELF
	}
	h.wide = elf.Class(h.b[elf.EI_CLASS]) == elf.ELFCLASS64
	whole := 52
	if h.wide {
		whole = 64
	}
	if n < whole {
		return nil, errCut
	}
	h.b = h.b[:whole]
	h.order = binary.LittleEndian
	if elf.Data(h.b[elf.EI_DATA]) == elf.ELFDATA2MSB {
		h.order = binary.BigEndian
	}
	half := func(at int) uint64 { return uint64(h.order.Uint16(h.b[at:])) }
	if h.wide {
		h.phoff, h.shoff = h.order.Uint64(h.b[32:]), h.order.Uint64(h.b[40:])
		h.phsize, h.phnum, h.shsize, h.shnum, h.namesIndex = half(54), half(56), half(58), half(60), half(62)
	} else {
		h.phoff, h.shoff = uint64(h.order.Uint32(h.b[28:])), uint64(h.order.Uint32(h.b[32:]))
		h.phsize, h.phnum, h.shsize, h.shnum, h.namesIndex = half(42), half(44), half(46), half(48), half(50)
	}
	return h, nil
}

// segments checks what the header says of them: debug/elf reads as much as it says.
func (h *header) segments() error {
	want := uint64(32)
	if h.wide {
		want = 56
	}
	switch {
	case h.phnum == 0:
		return nil
	case h.phnum > input.MaxSegments:
		return &input.TooLargeError{What: "the file", Most: input.MaxSegments, Unit: "segments"}
	case h.phsize != want || h.phoff > uint64(h.size):
		return errCorrupt
	}
	return nil
}

// sections checks what the header says of them, and their names: as many strings as
// there are sections, of which each can be as long as all of them together.
func (h *header) sections() error {
	if h.shoff == 0 {
		return nil
	}
	want := uint64(40)
	if h.wide {
		want = 64
	}
	if h.shsize != want || h.shoff > uint64(h.size) {
		return errCorrupt
	}
	count, index := h.shnum, h.namesIndex
	if count == 0 || index == uint64(elf.SHN_XINDEX) { // the first one has the number
		first, err := h.section(0)
		if err != nil {
			return err
		}
		if count == 0 {
			count = first.size
		}
		if index == uint64(elf.SHN_XINDEX) {
			index = uint64(first.link)
		}
	}
	if count > input.MaxSections || index >= count {
		return &input.TooLargeError{What: "the file", Most: input.MaxSections, Unit: "sections"}
	}
	if count*want > uint64(h.size)-h.shoff {
		return errCut
	}
	if index == 0 {
		return nil // they have no names
	}
	names, err := h.section(index)
	if err != nil {
		return err
	}
	if names.compressed || names.size > input.MaxSectionNames || names.offset > uint64(h.size) || names.size > uint64(h.size)-names.offset {
		return &input.TooLargeError{What: "the table of section names", Most: input.MaxSectionNames}
	}
	return h.names(count, names)
}

// names adds up the names of all sections.
func (h *header) names(count uint64, table section) error {
	text := make([]byte, table.size)
	if _, err := h.r.ReadAt(text, int64(table.offset)); err != nil && len(text) > 0 {
		return err
	}
	left := input.MaxSectionNames
	for i := range count {
		s, err := h.section(i)
		if err != nil {
			return err
		}
		if uint64(s.name) >= table.size {
			continue // debug/elf says so
		}
		end := bytes.IndexByte(text[s.name:min(uint64(len(text)), uint64(s.name)+uint64(left)+1)], 0)
		if end < 0 || end > left {
			return &input.TooLargeError{What: "the names of the sections", Most: input.MaxSectionNames}
		}
		left -= end
	}
	return nil
}

// section is what is needed of a section header.
type section struct {
	name, link   uint32
	offset, size uint64
	compressed   bool
}

func (h *header) section(i uint64) (section, error) {
	b := make([]byte, h.shsize)
	if _, err := io.NewSectionReader(h.r, 0, h.size).ReadAt(b, int64(h.shoff+i*h.shsize)); err != nil {
		return section{}, errCut
	}
	s := section{name: h.order.Uint32(b)}
	if h.wide {
		s.compressed = elf.SectionFlag(h.order.Uint64(b[8:]))&elf.SHF_COMPRESSED != 0
		s.offset, s.size, s.link = h.order.Uint64(b[24:]), h.order.Uint64(b[32:]), h.order.Uint32(b[40:])
	} else {
		s.compressed = elf.SectionFlag(h.order.Uint32(b[8:]))&elf.SHF_COMPRESSED != 0
		s.offset, s.size, s.link = uint64(h.order.Uint32(b[16:])), uint64(h.order.Uint32(b[20:])), h.order.Uint32(b[24:])
	}
	return s, nil
}

// withoutSections is the header of a file that has none.
func (h *header) withoutSections() []byte {
	b := bytes.Clone(h.b)
	if h.wide {
		clear(b[0x28:0x30]) // where they are
		clear(b[0x3c:0x40]) // how many, and which one holds their names
	} else {
		clear(b[0x20:0x24])
		clear(b[0x30:0x34])
	}
	return b
}

// overlay is a file with another beginning.
type overlay struct {
	io.ReaderAt
	head []byte
}

func (o overlay) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.ReaderAt.ReadAt(p, off)
	if off >= 0 && off < int64(len(o.head)) {
		copy(p[:n], o.head[off:])
	}
	return n, err
}

// Debug returns the contents of the section .debug_name, unpacked: at most so many
// bytes. It is nil if there is none.
func Debug(f *elf.File, name string, most int64) ([]byte, error) {
	for _, s := range f.Sections {
		if s.Type == elf.SHT_NOBITS {
			continue
		}
		switch s.Name {
		case ".debug_" + name:
			return unpack(s.Open(), s.Name, s.Size, most)
		case ".zdebug_" + name: // before Go 1.19
			return unpackOld(s, most)
		}
	}
	return nil, nil
}

// unpack reads a section. Its size is what the file claims; it is believed only as
// far as there is that much.
func unpack(r io.Reader, name string, size uint64, most int64) ([]byte, error) {
	if size > uint64(most) {
		return nil, &input.TooLargeError{What: "section " + name, Most: most}
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return nil, fmt.Errorf("section %s: %w", name, err)
	}
	return data, nil
}

// unpackOld unpacks a section that begins with "ZLIB" and its size.
func unpackOld(s *elf.Section, most int64) ([]byte, error) {
	// As it is in the file: Open unpacks it, as large as it claims to be.
	r := io.NewSectionReader(s.ReaderAt, 0, int64(min(s.FileSize, math.MaxInt64)))
	var head [12]byte
	if _, err := io.ReadFull(r, head[:]); err != nil || string(head[:4]) != "ZLIB" {
		return nil, fmt.Errorf("section %s: %w", s.Name, errCorrupt)
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return nil, fmt.Errorf("section %s: %w", s.Name, err)
	}
	return unpack(z, s.Name, binary.BigEndian.Uint64(head[4:]), most)
}
