package symbol

import (
	"debug/elf"
	"slices"
)

// Values returns the addresses of these symbols, which is without those that the file
// does not have.
func (f *File) Values(names ...string) map[string]uint64 {
	out := make(map[string]uint64)
	longest := 0
	for _, name := range names {
		longest = max(longest, len(name))
	}
	symbols, strings := f.symtab(elf.SHT_SYMTAB)
	size, order := f.symbolSize(), f.elf.ByteOrder
	symbols.chunks(0, func(_ int64, b []byte) bool {
		for ; len(b) >= size; b = b[size:] {
			name := strings.from(int64(order.Uint32(b)))
			text := name.at(0, min(name.size, int64(longest)+1))
			end := slices.Index(text, 0)
			if end < 0 {
				continue // another, or one without an end
			}
			if i := slices.Index(names, string(text[:end])); i >= 0 {
				if size == elf.Sym64Size {
					out[names[i]] = order.Uint64(b[8:])
				} else {
					out[names[i]] = uint64(order.Uint32(b[4:]))
				}
			}
		}
		return true
	})
	return out
}

// symbolSize is how long an entry of a symbol table is.
func (f *File) symbolSize() int {
	if f.elf.Class == elf.ELFCLASS32 {
		return elf.Sym32Size
	}
	return elf.Sym64Size
}

// symtab returns the first symbol table of this type, and its strings; both are empty
// if there is none.
func (f *File) symtab(kind elf.SectionType) (symbols, strings span) {
	for _, s := range f.elf.Sections {
		// Nobody packs what a loader reads: it would be read as it stands.
		if s.Type != kind || int(s.Link) >= len(f.elf.Sections) || s.Flags&elf.SHF_COMPRESSED != 0 {
			continue
		}
		of := f.elf.Sections[s.Link]
		all := f.s.all()
		return all.part(int64(s.Offset), int64(s.FileSize)), all.part(int64(of.Offset), int64(of.FileSize))
	}
	return span{s: f.s}, span{s: f.s}
}

// ELF returns the headers of the file, which is open as long as the file is.
func (f *File) ELF() *elf.File { return f.elf }
