package symbol

import (
	"cmp"
	"debug/elf"
	"iter"
	"slices"

	"github.com/foliomem/folio/internal/base/input"
)

// names is the symbol table of a program that is not of Go, and of the C code
// in one that is. Names stay in the file until they are asked for.
type names struct {
	list    []name
	strings span
	kept    int64 // bytes of the budget
}

// name is a function. It is kept small: a browser has a million of them.
type name struct {
	address uint64
	size    uint32 // 0 for unknown: it ends where the next one starts
	name    uint32
}

const nameSize = 16 // bytes

// end returns where function i ends.
func (n *names) end(i int) uint64 {
	s := n.list[i]
	switch {
	case s.size > 0:
		return s.address + uint64(s.size)
	case i+1 < len(n.list):
		return n.list[i+1].address
	}
	return s.address + 1
}

// lookup returns the name of the function at this address, "" if unknown.
func (n *names) lookup(address uint64) string {
	i, found := slices.BinarySearchFunc(n.list, address, func(s name, a uint64) int { return cmp.Compare(s.address, a) })
	if !found {
		i--
	}
	if i < 0 || address >= n.end(i) {
		return ""
	}
	s, _ := n.strings.text(int64(n.list[i].name))
	return s
}

func (n *names) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, s := range n.list {
			if name, ok := n.strings.text(int64(s.name)); ok && name != "" && !yield(name) {
				return
			}
		}
	}
}

// readNames reads the functions of .symtab, or of .dynsym in a stripped file.
func (f *File) readNames() *names {
	n := &names{}
	for _, kind := range []elf.SectionType{elf.SHT_SYMTAB, elf.SHT_DYNSYM} {
		var symbols span
		symbols, n.strings = f.symtab(kind)
		if n.read(f.elf, symbols, f.symbolSize()); len(n.list) > 0 {
			n.sort()
			return n
		}
	}
	return n
}

// read takes the functions from a section of symbols.
func (n *names) read(f *elf.File, section span, size int) {
	order := f.ByteOrder
	whole := section.chunks(0, func(_ int64, b []byte) bool {
		for ; len(b) >= size; b = b[size:] {
			var s name
			var info byte
			var index uint16
			var length uint64
			s.name = order.Uint32(b)
			if size == elf.Sym64Size {
				info, index = b[4], order.Uint16(b[6:])
				s.address, length = order.Uint64(b[8:]), order.Uint64(b[16:])
			} else {
				s.address, length = uint64(order.Uint32(b[4:])), uint64(order.Uint32(b[8:]))
				info, index = b[12], order.Uint16(b[14:])
			}
			kind := elf.ST_TYPE(info)
			if kind != elf.STT_FUNC && kind != elf.STT_GNU_IFUNC || elf.SectionIndex(index) == elf.SHN_UNDEF {
				continue
			}
			if f.Machine == elf.EM_ARM {
				s.address &^= 1 // the bit says that it is Thumb code
			}
			s.size = uint32(min(length, 1<<32-1))
			if len(n.list) == input.MaxSymbols || !take(&section.s.budget.memory, nameSize) {
				return false
			}
			n.kept += nameSize
			n.list = append(n.list, s)
		}
		return true
	})
	if !whole {
		n.list = nil // without the rest, addresses would get the names of others
		section.s.budget.memory += n.kept
		n.kept = 0
	}
}

// sort orders the functions and leaves one name for each address: of several
// the one that says how long the function is, else the first.
func (n *names) sort() {
	slices.SortStableFunc(n.list, func(a, b name) int {
		return cmp.Or(cmp.Compare(a.address, b.address), cmp.Compare(b.size, a.size))
	})
	n.list = slices.CompactFunc(n.list, func(a, b name) bool { return a.address == b.address })
	n.list = slices.Clip(n.list)
}
