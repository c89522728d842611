package symbol

import (
	"bytes"
	"debug/elf"
)

// The runtime's description of a module (runtime.moduledata) says where the
// code and the tree of inlined calls are. It is found by its contents, not by
// its symbol, so that it is found in a stripped program too: its first words
// point to the function table and its parts.
//
// These are the numbers of its words. They have been the same since Go 1.18;
// those that have not are in the table of releases.
const (
	moduleText  = 22
	moduleMinPC = 20
	moduleMaxPC = 21
	moduleWords = 48

	// checkedTrees is how many functions' inlined calls are read to see that
	// the tree is where the module says.
	checkedTrees = 100
	checkedCalls = 1000 // of each
	// maxModules ends the search in a file that is full of pointers to its
	// table. A real one has one or two.
	maxModules = 50
)

// locate finds the module that belongs to the table at this address, and with
// it where the code is. Without one, functions are found only if the header
// says where the code starts.
func (f *File) locate(t *pcln, address uint64) bool {
	found, tried := false, 0
	f.modules(t, address, func(at uint64) bool {
		tried++
		w := f.words(t, at, moduleWords)
		found = w != nil && t.isModule(w, address) && f.use(t, w)
		return found || tried == maxModules
	})
	if !found && t.textStart != 0 {
		if _, ok := f.offsetOf(t.textStart); ok {
			t.text, found = t.textStart, true
		}
	}
	return found
}

// modules calls visit with each address that may be that of a module, which is
// where a pointer to the table is, until it returns true.
func (f *File) modules(t *pcln, address uint64, visit func(at uint64) bool) {
	pattern := make([]byte, t.pointer)
	if t.pointer == 4 {
		t.order.PutUint32(pattern, uint32(address))
	} else {
		t.order.PutUint64(pattern, address)
	}
	done := false
	for _, p := range f.loads(elf.PF_W, elf.PF_R, elf.PF_X) {
		f.s.all().part(int64(p.Off), int64(p.Filesz)).search(pattern, func(off int64) bool {
			at := p.Vaddr + uint64(off)
			done = at%uint64(t.pointer) == 0 && visit(at)
			return done
		})
		if done {
			return
		}
	}
	// In a position independent program the dynamic linker writes the pointer;
	// in the file there is only its instruction to do so.
	f.relocations(func(at, value uint64) bool {
		return value == address && at%uint64(t.pointer) == 0 && visit(at)
	})
}

// search calls visit with the place of each pattern in p until it returns true.
func (p span) search(pattern []byte, visit func(off int64) bool) {
	next := int64(0)
	p.chunks(len(pattern)-1, func(off int64, b []byte) bool {
		for i := 0; ; i++ {
			j := bytes.Index(b[i:], pattern)
			if j < 0 {
				return true
			}
			i += j
			if off+int64(i) < next {
				continue // seen in the chunk before
			}
			next = off + int64(i) + 1
			if visit(off + int64(i)) {
				return false
			}
		}
	})
}

// words returns n words at this address, as they are once the dynamic linker
// has done its work.
func (f *File) words(t *pcln, at uint64, n int64) []uint64 {
	off, ok := f.offsetOf(at)
	if !ok {
		return nil
	}
	b := f.s.all().at(off, n*t.pointer)
	if b == nil {
		return nil
	}
	w := make([]uint64, n)
	for i := range w {
		w[i] = t.uint(b[int64(i)*t.pointer:])
	}
	f.relocations(func(to, value uint64) bool {
		if i := (to - at) / uint64(t.pointer); to >= at && i < uint64(n) && (to-at)%uint64(t.pointer) == 0 {
			w[i] = value
		}
		return false
	})
	return w
}

// isModule tells whether these words describe the table.
func (t *pcln) isModule(w []uint64, address uint64) bool {
	for i, part := range []int{1, 4, 7, 10, 13} {
		if w[part] != address+uint64(t.starts[i]) || w[part+1] > w[part+2] {
			return false
		}
	}
	first, ok := t.entry(0)
	return ok && w[16] == w[13] && w[17] == uint64(t.functions)+1 &&
		w[moduleMinPC] < w[moduleMaxPC] && w[moduleText]+uint64(first) == w[moduleMinPC]
}

// use takes what the module says. It returns false if that cannot be.
func (f *File) use(t *pcln, w []uint64) bool {
	t.text = w[moduleText]
	if r, known := releaseOf(f.GoVersion()); known {
		t.sections = f.sectionsAt(t, w, r.sections)
		if _, ok := f.useTree(t, w[r.tree]); !ok {
			t.tree = span{}
		}
		return true
	}
	// In a version that is not known the words may have moved. The tree is the one
	// that a hundred functions with inlined calls fit; without one, only the function
	// that others were inlined into is told.
	for i := moduleMaxPC + 1; i < moduleWords-2; i++ {
		if t.sections = f.sectionsAt(t, w, i); len(t.sections) > 1 && t.sections[0].address == t.text {
			break
		}
		t.sections = nil
	}
	for i := moduleMaxPC + 1; i < moduleWords; i++ {
		if checked, ok := f.useTree(t, w[i]); ok && checked == checkedTrees {
			return true
		}
	}
	t.tree = span{}
	return true
}

// sectionsAt returns the sections of the text if word i begins the list of them.
func (f *File) sectionsAt(t *pcln, w []uint64, i int) []textSection {
	if n := w[i+1]; n > 1 && n < 1000 && n == w[i+2] {
		return f.textSections(t, w[i], int64(n))
	}
	return nil
}

// textSections reads the list of the text's sections.
func (f *File) textSections(t *pcln, at uint64, n int64) (sections []textSection) {
	for w := f.words(t, at, 3*n); len(w) >= 3; w = w[3:] {
		s := textSection{w[0], w[1], w[2]}
		if s.from > s.to {
			return nil
		}
		sections = append(sections, s)
	}
	return sections
}

// useTree takes the inlined calls at this address, if that is where they are:
// every record of the first functions with inlined calls must have a name that
// starts where a name starts, and a place in the function. Wrong names would
// be worse than none. It returns how many functions it has looked at.
func (f *File) useTree(t *pcln, address uint64) (checked int, ok bool) {
	t.tree = f.memory(address)
	if t.tree.size == 0 {
		return 0, false
	}
	for i := int64(0); i < t.functions && checked < checkedTrees; i++ {
		fn, ok := t.function(i)
		if !ok || !fn.hasTree {
			continue
		}
		checked++
		last := int32(-1)
		t.runs = maxRuns
		ok = t.values(fn, fn.inlineIndex, func(value int32, _ uint32) bool {
			last = min(max(last, value), checkedCalls)
			return true
		})
		for index := int32(0); ok && index <= last; index++ {
			ok = t.plausible(fn, index)
		}
		if !ok {
			return checked, false
		}
	}
	return checked, true
}

func (t *pcln) plausible(f function, index int32) bool {
	call, ok := t.inlined(f, index)
	if !ok || call.name < 0 {
		return false
	}
	if call.name > 0 {
		if end := t.names.at(call.name-1, 1); end == nil || end[0] != 0 {
			return false
		}
	}
	first := t.names.at(call.name, 1)
	return first != nil && first[0] != 0
}
