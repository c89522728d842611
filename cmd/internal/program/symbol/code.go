package symbol

import (
	"debug/elf"
	"encoding/binary"
	"iter"
)

// A Func is a function of a Go program: its name as the linker has it, and
// where its code is. End is where the next function starts, so padding may
// belong to it.
type Func struct {
	Name       string
	Entry, End uint64
}

// HasTable tells whether the table of Go's functions can be read. A program
// that IsGo without it comes from a version of Go that is not known, or its
// table was changed after linking.
func (f *File) HasTable() bool { return f.goTable() != nil && f.pcln.functions > 0 }

// Funcs yields the functions of a Go program in the order of their addresses.
// Go's own runtime comes early.
func (f *File) Funcs() iter.Seq[Func] {
	return func(yield func(Func) bool) {
		t := f.goTable()
		if t == nil {
			return
		}
		for i := range t.functions {
			if fn, ok := t.function(i); ok {
				if out, ok := t.describe(fn); ok && !yield(out) {
					return
				}
			}
		}
	}
}

// FuncAt returns the function that holds the code at this address.
func (f *File) FuncAt(address uint64) (Func, bool) {
	t := f.goTable()
	if t == nil {
		return Func{}, false
	}
	off, ok := t.offset(address)
	if !ok {
		return Func{}, false
	}
	fn, ok := t.find(off)
	if !ok {
		return Func{}, false
	}
	return t.describe(fn)
}

// FrameSize returns the size of the frame of the code at an address: how far the stack pointer is below where it was when
// the function was entered, in bytes; and whether the function has no caller. It is false if
// that is unknown.
func (f *File) FrameSize(address uint64) (size int32, topmost, ok bool) {
	t := f.goTable()
	if t == nil {
		return 0, false, false
	}
	off, ok := t.offset(address)
	if !ok {
		return 0, false, false
	}
	fn, ok := t.find(off)
	if !ok {
		return 0, false, false
	}
	t.runs = maxRuns
	size = t.value(fn, fn.pcsp, off)
	return size, fn.topmost, size >= 0
}

// longName is more than the name of a function has that anyone looks for. Of
// those that types make longer nothing is kept.
const longName = 4 << 10

func (t *pcln) describe(fn function) (Func, bool) {
	name, ok := t.names.part(fn.name, longName).text(0)
	entry, found := t.address(fn.entry)
	return Func{Name: name, Entry: entry, End: entry + uint64(fn.end-fn.entry)}, ok && found
}

// address converts an offset in the text to an address.
func (t *pcln) address(off uint32) (uint64, bool) {
	for _, s := range t.sections {
		if uint64(off) >= s.from && uint64(off) < s.to {
			return s.address + (uint64(off) - s.from), true
		}
	}
	return t.text + uint64(off), len(t.sections) == 0
}

// Machine is the processor that the file is for.
func (f *File) Machine() elf.Machine { return f.elf.Machine }

// Class is the size of its words.
func (f *File) Class() elf.Class { return f.elf.Class }

// Order is the order of the bytes in its words.
func (f *File) Order() binary.ByteOrder { return f.elf.ByteOrder }

// Type tells programs from libraries, and those at fixed addresses from those
// that can be anywhere.
func (f *File) Type() elf.Type { return f.elf.Type }

// Entry is the address where the program starts.
func (f *File) Entry() uint64 { return f.elf.Entry }

// Sections are the names of the sections that the headers name.
func (f *File) Sections() (names []string) {
	for _, s := range f.elf.Sections {
		names = append(names, s.Name)
	}
	return names
}

// Extent is where the last thing that the headers name ends in the file. What
// comes after it was added by someone else.
func (f *File) Extent() uint64 {
	var last uint64
	for _, p := range f.elf.Progs {
		last = max(last, p.Off+p.Filesz)
	}
	for _, s := range f.elf.Sections {
		if s.Type != elf.SHT_NOBITS {
			last = max(last, s.Offset+s.FileSize)
		}
	}
	if h := f.head(64); len(h) == 64 && f.elf.Class == elf.ELFCLASS64 && len(f.elf.Sections) > 0 {
		o := f.elf.ByteOrder
		last = max(last, o.Uint64(h[0x28:])+uint64(o.Uint16(h[0x3a:]))*uint64(len(f.elf.Sections)))
	}
	return last
}

// Bytes returns n bytes of memory at this address, as they are in the file, at
// most 16 KiB; nil if they are not all in it. They must not be changed.
func (f *File) Bytes(address uint64, n int) []byte { return f.memory(address).at(0, int64(n)) }

// Offset returns where in the file the memory at this address comes from.
func (f *File) Offset(address uint64) (int64, bool) { return f.offsetOf(address) }

// Flags are how the memory at this address may be used; 0 if there is none.
// Memory that starts as zeros is not in the file, but is memory.
func (f *File) Flags(address uint64) elf.ProgFlag {
	for _, p := range f.elf.Progs {
		if p.Type == elf.PT_LOAD && address >= p.Vaddr && address-p.Vaddr < p.Memsz {
			return p.Flags
		}
	}
	return 0
}

// Pointers calls visit with each place that holds this address once the
// program runs, until it returns true: those that the dynamic linker fills in,
// and those in memory that can be written.
func (f *File) Pointers(address uint64, visit func(at uint64) bool) {
	done := false
	f.relocations(func(at, value uint64) bool {
		done = value == address && visit(at)
		return done
	})
	pattern := binary.LittleEndian.AppendUint64(nil, address)
	if f.elf.ByteOrder == binary.BigEndian {
		pattern = binary.BigEndian.AppendUint64(nil, address)
	}
	for _, p := range f.loads(elf.PF_W) {
		if done {
			return
		}
		f.s.all().part(int64(p.Off), int64(p.Filesz)).search(pattern, func(off int64) bool {
			at := p.Vaddr + uint64(off)
			done = at%8 == 0 && visit(at)
			return done
		})
	}
}

// Words returns n words of 8 bytes at this address, as they are once the
// dynamic linker has done its work; nil if they are not in the file.
func (f *File) Words(address uint64, n int64) []uint64 {
	if f.elf.Class != elf.ELFCLASS64 {
		return nil
	}
	return f.words(&pcln{order: f.elf.ByteOrder, pointer: 8}, address, n)
}

// head returns the first n bytes of the file, or what there is of them.
func (f *File) head(n int) []byte {
	b := f.s.block(0)
	return b[:min(n, len(b))]
}
