package symbol

import (
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"sort"
	"strings"
)

// The table that every Go program carries for its own stack traces
// (runtime.pcHeader, written by cmd/link/internal/ld/pcln.go). strip leaves it,
// because the program could not run without it.
const (
	magic118 = 0xfffffff0 // Go 1.18 and 1.19
	magic120 = 0xfffffff1 // Go 1.20 and later

	pcdataInlineIndex  = 2 // abi.PCDATA_InlTreeIndex
	funcdataInlineTree = 3 // abi.FUNCDATA_InlTree

	// maxInline ends a chain of inlined calls that a corrupt table makes endless.
	maxInline = 500
	// maxRuns bounds the work for one address to a fraction of a second. Real
	// ones need a few hundred runs, the longest generated code some millions.
	maxRuns = 1 << 24

	// These bound what is remembered of a corrupt file's strings to 16 MiB.
	maxStrings = 1 << 14
	longString = 1 << 10
)

// pcln is a program's table of functions, lines and inlined calls.
type pcln struct {
	order     binary.ByteOrder
	pointer   int64 // size of one, in bytes
	quantum   uint32
	go118     bool // the formats of Go 1.18 and 1.19
	functions int64
	// textStart is where the header says the code starts. It is 0 from Go 1.26
	// on, and before the dynamic linker has filled it in.
	textStart uint64
	// starts holds where the parts below start, seen from the header.
	starts                          [5]int64
	names, units, files, pcs, funcs span

	// What the module's description says, see module.go.
	text     uint64        // address of offset 0
	sections []textSection // where text is in several sections
	tree     span          // the inlined calls; empty if not known

	// strings are kept by their place in the file: a program has few files and
	// functions compared with the addresses that are asked for.
	strings map[int64]string

	runs int // how many more runs of values may be read, see maxRuns
}

// textSection is where the linker put a part of the text: very large programs
// on some processors have more than one, for the reach of their jumps.
type textSection struct{ from, to, address uint64 }

// parsePcln reads the header of the table that p starts with. p may be longer
// than the table.
func parsePcln(p span, order binary.ByteOrder, pointer int64) (*pcln, error) {
	h := p.at(0, 8+8*pointer)
	if h == nil {
		return nil, errors.New("the function table is cut off")
	}
	t := &pcln{order: order, pointer: pointer, quantum: uint32(h[6]), strings: make(map[int64]string)}
	switch magic := order.Uint32(h); magic {
	case magic118:
		t.go118 = true
	case magic120:
	default:
		return nil, fmt.Errorf("function table of an unknown format %#x: Go 1.18 to 1.%d are known", magic, newest)
	}
	if h[4] != 0 || h[5] != 0 || t.quantum != 1 && t.quantum != 2 && t.quantum != 4 || int64(h[7]) != pointer {
		return nil, errors.New("the function table's header is corrupt")
	}
	var w [8]uint64
	for i := range w {
		w[i] = t.uint(h[8+int64(i)*pointer:])
	}
	t.textStart = w[2]
	last := uint64(8 + 8*pointer)
	for i, start := range w[3:] {
		if start < last || start > uint64(p.size) {
			return nil, errors.New("the function table's parts are not in order, or outside of the file")
		}
		t.starts[i] = int64(start)
		last = start
	}
	t.names = p.part(t.starts[0], t.starts[1]-t.starts[0])
	t.units = p.part(t.starts[1], t.starts[2]-t.starts[1])
	t.files = p.part(t.starts[2], t.starts[3]-t.starts[2])
	t.pcs = p.part(t.starts[3], t.starts[4]-t.starts[3])
	t.funcs = p.from(t.starts[4])
	if n := w[0]; n == 0 || n > uint64(t.funcs.size)/8 {
		return nil, fmt.Errorf("the function table names %d functions, which the file has no room for", n)
	}
	t.functions = int64(w[0])
	// A few bytes that look like a header are found in many files; a table is
	// one whose functions are where it says, with names.
	for _, i := range []int64{0, t.functions / 2, t.functions - 1} {
		f, ok := t.function(i)
		if !ok {
			return nil, fmt.Errorf("the function table's entry %d is corrupt", i)
		}
		if name, ok := t.str(t.names, f.name); !ok || name == "" {
			return nil, fmt.Errorf("the function table's entry %d has no name", i)
		}
	}
	return t, nil
}

// uint reads a word of the program's size.
func (t *pcln) uint(b []byte) uint64 {
	if t.pointer == 4 {
		return uint64(t.order.Uint32(b))
	}
	return t.order.Uint64(b)
}

func (t *pcln) u32(p span, off int64) (uint32, bool) {
	b := p.at(off, 4)
	if b == nil {
		return 0, false
	}
	return t.order.Uint32(b), true
}

// str returns the string at off in one of the parts that hold strings.
func (t *pcln) str(p span, off int64) (string, bool) {
	if s, ok := t.strings[p.off+off]; ok && off >= 0 && off < p.size {
		return s, true
	}
	s, ok := p.text(off)
	if ok && len(s) < longString {
		if len(t.strings) == maxStrings {
			clear(t.strings)
		}
		t.strings[p.off+off] = s
	}
	return s, ok
}

// offset converts an address to the offset in the text that the tables use.
func (t *pcln) offset(address uint64) (uint32, bool) {
	for _, s := range t.sections {
		if address >= s.address && address-s.address < s.to-s.from {
			off := s.from + (address - s.address)
			return uint32(off), off == uint64(uint32(off))
		}
	}
	off := address - t.text
	return uint32(off), len(t.sections) == 0 && address >= t.text && off == uint64(uint32(off))
}

// function is what the table says of one function (runtime._func). Offsets of
// code are in the text.
type function struct {
	entry, end     uint32
	name           int64
	pcfile, pcline uint32
	unit           uint32
	start          int32 // line
	inlineIndex    uint32
	inlineTree     uint32
	hasTree        bool
	pcsp           uint32 // table of the sizes of its frame
	topmost        bool   // it has no caller: stacks end there (abi.FuncFlagTopFrame)
}

// entry returns where function i starts; i may be the number of functions,
// whose entry is the end of the last.
func (t *pcln) entry(i int64) (uint32, bool) { return t.u32(t.funcs, 8*i) }

func (t *pcln) function(i int64) (f function, ok bool) {
	var record uint32
	if f.entry, ok = t.entry(i); !ok {
		return f, false
	}
	if f.end, ok = t.entry(i + 1); !ok || f.end < f.entry {
		return f, false
	}
	if record, ok = t.u32(t.funcs, 8*i+4); !ok {
		return f, false
	}
	size := int64(44)
	if t.go118 {
		size = 40 // without startLine
	}
	r := t.funcs.at(int64(record), size)
	if r == nil || t.order.Uint32(r) != f.entry {
		return f, false
	}
	f.name = int64(int32(t.order.Uint32(r[4:])))
	f.pcsp = t.order.Uint32(r[16:])
	f.topmost = r[size-3]&1 != 0
	f.pcfile = t.order.Uint32(r[20:])
	f.pcline = t.order.Uint32(r[24:])
	f.unit = t.order.Uint32(r[32:])
	if !t.go118 {
		f.start = int32(t.order.Uint32(r[36:]))
	}
	pcdatas, funcdatas := int64(t.order.Uint32(r[28:])), int64(r[size-1])
	rest := t.funcs.from(int64(record) + size)
	if pcdatas > pcdataInlineIndex && funcdatas > funcdataInlineTree {
		f.inlineIndex, _ = t.u32(rest, 4*pcdataInlineIndex)
		f.inlineTree, ok = t.u32(rest, 4*(pcdatas+funcdataInlineTree))
		f.hasTree = ok && f.inlineIndex != 0 && f.inlineTree != ^uint32(0)
	}
	return f, true
}

// find returns the function that holds this offset in the text.
func (t *pcln) find(off uint32) (function, bool) {
	i := sort.Search(int(t.functions)+1, func(i int) bool {
		entry, ok := t.entry(int64(i))
		return !ok || entry > off
	})
	if i == 0 || int64(i) > t.functions {
		return function{}, false
	}
	f, ok := t.function(int64(i - 1))
	return f, ok && f.entry <= off && off < f.end
}

// values calls visit with each run of a table by code address: the value, and
// where in the text its run ends. It returns false when the table is corrupt.
func (t *pcln) values(f function, table uint32, visit func(value int32, end uint32) bool) bool {
	if table == 0 {
		return true // there is none
	}
	c := cursor{p: t.pcs, off: int64(table)}
	value, pc := int32(-1), f.entry
	for pc < f.end {
		if t.runs--; t.runs < 0 {
			return false
		}
		delta, ok := c.uvarint()
		if !ok || delta == 0 && pc != f.entry {
			return ok
		}
		value += int32(-(delta & 1) ^ (delta >> 1))
		step, ok := c.uvarint()
		if !ok || step > (^uint32(0)-pc)/t.quantum {
			return false
		}
		pc += step * t.quantum
		if !visit(value, pc) {
			return true
		}
	}
	return true
}

// value returns what a table says at off, -1 for nothing.
func (t *pcln) value(f function, table uint32, off uint32) int32 {
	found := int32(-1)
	t.values(f, table, func(value int32, end uint32) bool {
		if off < end {
			found = value
			return false
		}
		return true
	})
	return found
}

// inlined is a record of a function's tree of inlined calls.
type inlined struct {
	name   int64
	parent uint32 // offset from the entry of code at the place of the call
	start  int32  // line
}

func (t *pcln) inlined(f function, index int32) (inlined, bool) {
	size, name, parent := int64(16), 4, 8
	if t.go118 {
		size, name, parent = 20, 12, 16
	}
	r := t.tree.at(int64(f.inlineTree)+int64(index)*size, size)
	if r == nil {
		return inlined{}, false
	}
	c := inlined{name: int64(int32(t.order.Uint32(r[name:]))), parent: t.order.Uint32(r[parent:])}
	if !t.go118 {
		c.start = int32(t.order.Uint32(r[12:]))
	}
	return c, c.parent < f.end-f.entry
}

// line returns the file and line of the code at off; nothing if unknown.
func (t *pcln) line(f function, off uint32) (string, int) {
	file, line := t.value(f, f.pcfile, off), t.value(f, f.pcline, off)
	if file < 0 || line < 0 {
		return "", 0
	}
	at, ok := t.u32(t.units, 4*(int64(f.unit)+int64(file)))
	if !ok || at == ^uint32(0) {
		return "", 0
	}
	name, ok := t.str(t.files, int64(at))
	if !ok {
		return "", 0
	}
	return name, int(line)
}

// frames returns what is executed at this address, innermost first.
func (t *pcln) frames(address uint64) []Frame {
	off, ok := t.offset(address)
	if !ok {
		return nil
	}
	f, ok := t.find(off)
	if !ok {
		return nil
	}
	name, ok := t.str(t.names, f.name)
	if !ok || name == "" {
		return nil
	}
	t.runs = maxRuns
	var frames []Frame
	for range maxInline {
		index := int32(-1)
		if f.hasTree {
			index = t.value(f, f.inlineIndex, off)
		}
		if index >= 0 && t.tree.size == 0 {
			break // the line is that of a call whose name is not known
		}
		file, line := t.line(f, off)
		if index < 0 {
			return appendFrame(frames, Frame{printed(name), file, line, startLine(f.start)})
		}
		call, ok := t.inlined(f, index)
		inner, named := t.str(t.names, call.name)
		if !ok || !named || inner == "" {
			break
		}
		frames = appendFrame(frames, Frame{printed(inner), file, line, startLine(call.start)})
		off = f.entry + call.parent
	}
	// The tree is corrupt or unknown: what is certain is the function, not the place
	// in it.
	return []Frame{{Func: printed(name)}}
}

// startLine is a line of the table; a corrupt one is not known.
func startLine(n int32) int { return int(max(n, 0)) }

// appendFrame leaves out the wrappers that the compiler writes around methods,
// as the runtime does in its traces: they have no place in the source. As the
// innermost frame they stay, since they do their own work.
func appendFrame(frames []Frame, f Frame) []Frame {
	if len(frames) > 0 && f.File == "<autogenerated>" {
		return frames
	}
	return append(frames, f)
}

// all yields the names of all functions, also of those that were inlined
// everywhere.
func (t *pcln) all() iter.Seq[string] {
	return func(yield func(string) bool) {
		for off := int64(0); off < t.names.size; {
			name, ok := t.names.text(off)
			if !ok || name != "" && !yield(printed(name)) {
				return
			}
			off += int64(len(name)) + 1
		}
	}
}

// printed returns a function's name as the runtime prints it: the types that
// a generic function was compiled for are "[...]".
func printed(name string) string {
	i := strings.IndexByte(name, '[')
	j := strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}
