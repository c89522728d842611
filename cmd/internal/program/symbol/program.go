package symbol

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
)

// loads returns the parts that are loaded into memory and have contents: those
// that can be written, those that can only be read, those with code, in the
// order asked for.
func (f *File) loads(order ...elf.ProgFlag) (out []elf.ProgHeader) {
	for _, want := range order {
		for _, p := range f.elf.Progs {
			kind := elf.PF_R
			switch {
			case p.Flags&elf.PF_W != 0:
				kind = elf.PF_W
			case p.Flags&elf.PF_X != 0:
				kind = elf.PF_X
			}
			if p.Type == elf.PT_LOAD && kind == want && p.Filesz > 0 {
				out = append(out, p.ProgHeader)
			}
		}
	}
	return out
}

// memory is the contents of memory at this address up to the end of what is
// loaded together with it; empty if it is nowhere in the file.
func (f *File) memory(address uint64) span {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && address >= p.Vaddr && address-p.Vaddr < p.Filesz {
			return f.s.all().part(int64(p.Off), int64(p.Filesz)).from(int64(address - p.Vaddr))
		}
	}
	return span{s: f.s}
}

// offsetOf returns where in the file the memory at this address comes from.
func (f *File) offsetOf(address uint64) (int64, bool) {
	m := f.memory(address)
	return m.off, m.size > 0
}

// relative are the types of a relocation by which the dynamic linker stores
// the address of a place in the program itself.
var relative = map[elf.Machine]uint32{
	elf.EM_X86_64:    uint32(elf.R_X86_64_RELATIVE),
	elf.EM_AARCH64:   uint32(elf.R_AARCH64_RELATIVE),
	elf.EM_PPC64:     uint32(elf.R_PPC64_RELATIVE),
	elf.EM_S390:      uint32(elf.R_390_RELATIVE),
	elf.EM_RISCV:     uint32(elf.R_RISCV_RELATIVE),
	elf.EM_LOONGARCH: uint32(elf.R_LARCH_RELATIVE),
}

// relocations calls visit with what the dynamic linker will store, and where,
// until it returns true. 32-bit systems keep it in place instead.
func (f *File) relocations(visit func(at, value uint64) bool) {
	kind, known := relative[f.elf.Machine]
	if !known || f.elf.Class != elf.ELFCLASS64 {
		return
	}
	const size = 24
	order := f.elf.ByteOrder
	f.rela().chunks(0, func(_ int64, b []byte) bool {
		for ; len(b) >= size; b = b[size:] {
			if uint32(order.Uint64(b[8:])) == kind && visit(order.Uint64(b), order.Uint64(b[16:])) {
				return false
			}
		}
		return true
	})
}

// rela is the list of relocations. It is found as the dynamic linker finds it.
func (f *File) rela() span {
	for _, p := range f.elf.Progs {
		if p.Type != elf.PT_DYNAMIC {
			continue
		}
		d := f.s.all().part(int64(p.Off), int64(p.Filesz))
		var at, size uint64
		for off := int64(0); ; off += 16 {
			b := d.at(off, 16)
			if b == nil {
				break
			}
			switch tag := elf.DynTag(f.elf.ByteOrder.Uint64(b)); tag {
			case elf.DT_RELA:
				at = f.elf.ByteOrder.Uint64(b[8:])
			case elf.DT_RELASZ:
				size = f.elf.ByteOrder.Uint64(b[8:])
			}
		}
		return f.memory(at).part(0, int64(min(size, uint64(f.s.size))))
	}
	return span{s: f.s}
}

// table finds the function table and returns it with its address. Both are
// nil and 0 for programs that are not of Go.
func (f *File) table() (*pcln, uint64, error) {
	pointer := int64(8)
	if f.elf.Class == elf.ELFCLASS32 {
		pointer = 4
	}
	order := f.elf.ByteOrder
	marked := len(f.elf.Sections) == 0
	for _, s := range f.elf.Sections {
		switch s.Name {
		case ".gopclntab", ".data.rel.ro.gopclntab":
			t, err := parsePcln(f.s.all().part(int64(s.Offset), int64(s.FileSize)), order, pointer)
			return t, s.Addr, err
		case ".go.buildinfo", ".note.go.buildid", ".gosymtab":
			// It is Go, but the system's linker has put the table into a
			// section with other things.
			marked = true
		}
	}
	if !marked {
		return nil, 0, nil
	}
	for _, p := range f.loads(elf.PF_R, elf.PF_W, elf.PF_X) {
		if t, address := f.scan(p, order, pointer); t != nil {
			return t, address, nil
		}
	}
	return nil, 0, nil
}

// scan looks for the function table in a part of the program.
func (f *File) scan(p elf.ProgHeader, order binary.ByteOrder, pointer int64) (t *pcln, address uint64) {
	part := f.s.all().part(int64(p.Off), int64(p.Filesz))
	for _, magic := range []uint32{magic120, magic118} {
		pattern := make([]byte, 6) // with the two zeros that follow
		order.PutUint32(pattern, magic)
		part.search(pattern, func(off int64) bool {
			address = p.Vaddr + uint64(off)
			if address%uint64(pointer) != 0 {
				return false
			}
			var err error
			if t, err = parsePcln(part.from(off), order, pointer); err != nil {
				t = nil
			}
			return t != nil
		})
		if t != nil {
			return t, address
		}
	}
	return nil, 0
}

// scanVersion looks for what package debug/buildinfo finds by the section
// headers, or without them only in the first part that can be written: 32
// bytes of header, the length of the version, the version.
func (f *File) scanVersion() (version string) {
	magic := []byte("\xff Go buildinf:")
	for _, p := range f.loads(elf.PF_W, elf.PF_R) {
		part := f.s.all().part(int64(p.Off), int64(p.Filesz))
		part.search(magic, func(off int64) bool {
			const longest = 100
			b := part.at(off, 33)
			if b == nil || b[15]&2 == 0 || b[32] > longest {
				return false
			}
			if v := part.at(off+33, int64(b[32])); bytes.HasPrefix(v, []byte("go")) || bytes.HasPrefix(v, []byte("devel ")) {
				version = string(v)
			}
			return version != ""
		})
		if version != "" {
			break
		}
	}
	return version
}
