package main

import (
	"bytes"
	"compress/zlib"
	"debug/elf"
	"encoding/binary"
	"os"
	"slices"
	"testing"
)

// zeros returns a zlib stream of so many MiB of zeros. A long one has no checksum that
// is right.
func zeros(mib int) []byte {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	chunk := make([]byte, 1<<20)
	put := func() []byte {
		at := b.Len()
		_, _ = z.Write(chunk)
		_ = z.Flush()
		return b.Bytes()[at:]
	}
	for range min(mib, 200) {
		put()
	}
	if mib > 200 {
		again := bytes.Clone(put())
		for range mib - 200 {
			b.Write(again)
		}
	}
	_ = z.Close()
	return b.Bytes()
}

// an elfFile is a program whose section headers are changed.
type elfFile struct {
	t     *testing.T
	b     []byte
	names []string
}

func readELF(t *testing.T, path string) *elfFile {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(b))
	if err != nil || f.Class != elf.ELFCLASS64 || f.Data != elf.ELFDATA2LSB {
		t.Skipf("the test changes programs of 64 bits: %v", err)
	}
	e := &elfFile{t: t, b: b}
	for _, s := range f.Sections {
		e.names = append(e.names, s.Name)
	}
	return e
}

// header returns the section's header.
func (e *elfFile) header(name string) []byte {
	e.t.Helper()
	for i, n := range e.names {
		if n == name {
			at := binary.LittleEndian.Uint64(e.b[40:]) + 64*uint64(i)
			return e.b[at : at+64]
		}
	}
	e.t.Fatalf("no section %s", name)
	return nil
}

// pack replaces a section by one that claims this size, and has this packed.
func (e *elfFile) pack(name string, size uint64, data []byte) {
	for len(e.b)%8 != 0 {
		e.b = append(e.b, 0)
	}
	at := len(e.b)
	head := binary.LittleEndian.AppendUint64(nil, uint64(elf.COMPRESS_ZLIB))
	head = binary.LittleEndian.AppendUint64(head, size)
	head = binary.LittleEndian.AppendUint64(head, 8)
	e.b = append(append(e.b, head...), data...)
	h := e.header(name)
	binary.LittleEndian.PutUint64(h[8:], binary.LittleEndian.Uint64(h[8:])|uint64(elf.SHF_COMPRESSED))
	binary.LittleEndian.PutUint64(h[24:], uint64(at))
	binary.LittleEndian.PutUint64(h[32:], uint64(len(head)+len(data)))
}

// claim has a section begin at the end of the file and be so long, not packed.
func (e *elfFile) claim(name string, size uint64) {
	h := e.header(name)
	binary.LittleEndian.PutUint64(h[8:], binary.LittleEndian.Uint64(h[8:])&^uint64(elf.SHF_COMPRESSED))
	binary.LittleEndian.PutUint64(h[24:], uint64(len(e.b)))
	binary.LittleEndian.PutUint64(h[32:], size)
}

// packOld replaces a section by one that is packed as before Go 1.19.
func (e *elfFile) packOld(name string, size uint64, data []byte) {
	e.rename(name, "."+"z"+name[1:])
	at := len(e.b)
	e.b = append(binary.BigEndian.AppendUint64(append(e.b, "ZLIB"...), size), data...)
	h := e.header("." + "z" + name[1:])
	binary.LittleEndian.PutUint64(h[8:], binary.LittleEndian.Uint64(h[8:])&^uint64(elf.SHF_COMPRESSED))
	binary.LittleEndian.PutUint64(h[24:], uint64(at))
	binary.LittleEndian.PutUint64(h[32:], uint64(len(e.b)-at))
}

// rename gives a section another name, in a new table of names.
func (e *elfFile) rename(name, to string) {
	table := e.header(".shstrtab")
	from, n := binary.LittleEndian.Uint64(table[24:]), binary.LittleEndian.Uint64(table[32:])
	at := len(e.b)
	e.b = append(append(append(e.b, e.b[from:from+n]...), to...), 0)
	table = e.header(".shstrtab") // the file may be elsewhere in memory now
	binary.LittleEndian.PutUint64(table[24:], uint64(at))
	binary.LittleEndian.PutUint64(table[32:], uint64(len(e.b)-at))
	binary.LittleEndian.PutUint32(e.header(name), uint32(n))
	e.names[slices.Index(e.names, name)] = to
}
