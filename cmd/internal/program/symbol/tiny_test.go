package symbol

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goversion"
)

// byteOrder is what the two orders of package binary have in common.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// tiny is the smallest program that the package reads: three functions, one
// with an inlined call, in every format and size of word, also of processors
// that no test machine has.
type tiny struct {
	order   byteOrder
	pointer int
	go118   bool
	// parent is where in outer inner was inlined, 8 in a sound program.
	parent uint32
	// sections makes a second section of text, at another address.
	sections bool
	// version is that of the program; "": Go 1.19 or 1.26.
	version string
}

// built returns the version of Go that the program is said to be of.
func (c tiny) built() string {
	switch {
	case c.version != "":
		return c.version
	case c.go118:
		return "go1.19.13"
	}
	return "go1.26.8"
}

// start is the line that a function starts at, where the format has it.
func (c tiny) start(line int) int {
	if c.go118 {
		return 0
	}
	return line
}

const (
	tinyBase = 0x400000 // where the file is loaded
	tinyText = 0x500000
	tinyFar  = 0x900000 // the second section of text
)

type bytesWriter struct {
	tiny
	bytes.Buffer
}

func (w *bytesWriter) u32(values ...uint32) {
	for _, v := range values {
		w.Write(w.order.AppendUint32(nil, v))
	}
}

func (w *bytesWriter) word(values ...uint64) {
	for _, v := range values {
		if w.pointer == 4 {
			w.u32(uint32(v))
		} else {
			w.Write(w.order.AppendUint64(nil, v))
		}
	}
}

func (w *bytesWriter) align(n int) {
	for w.Len()%n != 0 {
		w.WriteByte(0)
	}
}

// run is a value and for how many bytes of code it holds.
type run struct{ value, length int32 }

// runs appends a table of values by code address, and returns where it starts.
func runs(b *[]byte, list ...run) uint32 {
	at := uint32(len(*b))
	last := int32(-1)
	for _, r := range list {
		delta := r.value - last
		last = r.value
		*b = binary.AppendUvarint(*b, uint64(uint32(delta<<1^delta>>31)))
		*b = binary.AppendUvarint(*b, uint64(r.length))
	}
	*b = append(*b, 0)
	return at
}

// pclntab returns the function table, and the tree of inlined calls that
// belongs to it.
func (c tiny) pclntab() (table, tree []byte) {
	names := []byte("main.first\x00main.outer\x00main.inner[go.shape.int]\x00main.last\x00")
	nameOf := func(s string) uint32 { return uint32(bytes.Index(names, []byte(s))) }
	units := &bytesWriter{tiny: c}
	units.u32(0, 8)
	files := []byte("main.go\x00inner.go\x00")

	pcs := []byte{0}
	type fn struct {
		name                       string
		entry, start               uint32
		file, line, inline, inTree uint32
	}
	functions := []fn{
		{"main.first", 0, 2, runs(&pcs, run{0, 16}), runs(&pcs, run{3, 16}), 0, ^uint32(0)},
		{"main.outer", 0x10, 9, runs(&pcs, run{0, 16}, run{1, 16}, run{0, 32}),
			runs(&pcs, run{10, 16}, run{5, 16}, run{12, 32}), runs(&pcs, run{-1, 16}, run{0, 16}, run{-1, 32}), 0},
		{"main.last", 0x50, 299, runs(&pcs, run{0, 16}), runs(&pcs, run{300, 16}), 0, ^uint32(0)},
	}

	funcs := &bytesWriter{tiny: c}
	var records bytesWriter
	records.tiny = c
	head := 8*len(functions) + 4
	head += -head & 7
	for _, f := range functions {
		funcs.u32(f.entry, uint32(head+records.Len()))
		records.u32(f.entry, nameOf(f.name), 0, 0, 0, f.file, f.line, 3, 0)
		if !c.go118 {
			records.u32(f.start)
		}
		records.Write([]byte{0, 0, 0, 4})
		records.u32(0, 0, f.inline) // tables by code address
		records.u32(^uint32(0), ^uint32(0), ^uint32(0), f.inTree)
		records.align(8)
	}
	funcs.u32(0x60)
	funcs.align(8)
	funcs.Write(records.Bytes())

	magic := uint32(magic120)
	if c.go118 {
		magic = magic118
	}
	w := &bytesWriter{tiny: c}
	w.u32(magic)
	w.Write([]byte{0, 0, 1, byte(c.pointer)})
	w.word(uint64(len(functions)), 2, 0)
	at := 8 + 8*c.pointer
	parts := [][]byte{names, units.Bytes(), files, pcs, funcs.Bytes()}
	for i := range parts {
		parts[i] = append(parts[i], make([]byte, -len(parts[i])&7)...)
		w.word(uint64(at))
		at += len(parts[i])
	}
	for _, p := range parts {
		w.Write(p)
	}

	t := &bytesWriter{tiny: c}
	if c.go118 {
		t.u32(0xffff, 0, 0, nameOf("main.inner"), c.parent)
	} else {
		t.u32(0, nameOf("main.inner"), c.parent, 4)
	}
	return w.Bytes(), t.Bytes()
}

// file returns a program without section headers.
func (c tiny) file() []byte {
	const head = 0x100
	table, tree := c.pclntab()
	at := func(off int) uint64 { return tinyBase + uint64(off) }
	treeAt := head + len(table)
	listAt := treeAt + len(tree) + -(treeAt+len(tree))&7
	moduleAt := listAt + 6*c.pointer

	w := &bytesWriter{tiny: c}
	class, data := byte(2), byte(1)
	if c.pointer == 4 {
		class = 1
	}
	if c.order == binary.BigEndian {
		data = 2
	}
	w.Write([]byte{0x7f, 'E', 'L', 'F', class, data, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	half := func(values ...uint16) {
		for _, v := range values {
			w.Write(c.order.AppendUint16(nil, v))
		}
	}
	half(2, 62)
	w.u32(1)
	w.word(tinyText, uint64(16+8+3*c.pointer+16), 0) // entry, program headers, section headers
	w.u32(0)
	phsize := uint16(56)
	if c.pointer == 4 {
		phsize = 32
	}
	half(uint16(16+8+3*c.pointer+16), phsize, 1, 0, 0, 0)
	size := uint64(moduleAt + 48*c.pointer)
	if c.pointer == 4 {
		w.u32(1)
		w.word(0, tinyBase, tinyBase, size, size)
		w.u32(6, 8)
	} else {
		w.u32(1, 6)
		w.word(0, tinyBase, tinyBase, size, size, 8)
	}
	w.Write(make([]byte, head-w.Len()))
	w.Write(table)
	w.Write(tree)
	w.align(8)
	w.word(0, 0x50, tinyText, 0x50, 0x60, tinyFar)

	var module [48]uint64
	read := bytesReader{table, c}
	module[0] = at(head)
	for i := range 5 {
		module[1+3*i] = at(head) + read.word(8+(3+i)*c.pointer)
		module[2+3*i], module[3+3*i] = 1, 1
	}
	module[16], module[17], module[18] = module[13], 4, 4
	module[moduleMinPC], module[moduleMaxPC], module[moduleText] = tinyText, tinyText+0x60, tinyText
	r, known := releaseOf(c.built())
	if !known {
		r = releases[len(releases)-1]
	}
	module[r.tree] = at(treeAt)
	module[r.sections], module[r.sections+1], module[r.sections+2] = at(listAt), 1, 1
	if c.sections {
		module[r.sections+1], module[r.sections+2] = 2, 2
	}
	w.word(module[:]...)
	return w.Bytes()
}

type bytesReader struct {
	b []byte
	tiny
}

func (r bytesReader) word(off int) uint64 {
	if r.pointer == 4 {
		return uint64(r.order.Uint32(r.b[off:]))
	}
	return r.order.Uint64(r.b[off:])
}

// formats are all that a program can have.
func formats() (out []tiny) {
	for _, order := range []byteOrder{binary.LittleEndian, binary.BigEndian} {
		for _, pointer := range []int{4, 8} {
			for _, go118 := range []bool{false, true} {
				out = append(out, tiny{order: order, pointer: pointer, go118: go118, parent: 8})
			}
		}
	}
	return out
}

func (c tiny) open(t testing.TB) *File {
	t.Helper()
	b := c.file()
	f, err := New(bytes.NewReader(b), int64(len(b)), nil)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	version := c.built() // there is no build information in it
	f.version = &version
	return f
}

func TestFormats(t *testing.T) {
	for _, c := range formats() {
		f := c.open(t)
		outer := func(line int) Frame { return Frame{"main.outer", "main.go", line, c.start(9)} }
		first := Frame{"main.first", "main.go", 3, c.start(2)}
		inner := Frame{"main.inner[...]", "inner.go", 5, c.start(4)}
		for _, l := range []struct {
			address  uint64
			callsite bool
			want     []Frame
		}{
			{tinyText - 1, false, nil},
			{tinyText, true, nil},
			{tinyText, false, []Frame{first}},
			{tinyText + 0xf, false, []Frame{first}},
			{tinyText + 0x10, true, []Frame{first}},
			{tinyText + 0x10, false, []Frame{outer(10)}},
			{tinyText + 0x20, true, []Frame{outer(10)}},
			{tinyText + 0x20, false, []Frame{inner, outer(10)}},
			{tinyText + 0x2f, false, []Frame{inner, outer(10)}},
			{tinyText + 0x30, false, []Frame{outer(12)}},
			{tinyText + 0x4f, false, []Frame{outer(12)}},
			{tinyText + 0x5f, false, []Frame{{"main.last", "main.go", 300, c.start(299)}}},
			{tinyText + 0x60, false, nil},
			{0, true, nil},
			{^uint64(0), false, nil},
		} {
			if got := f.Lookup(l.address, l.callsite); !slices.Equal(got, l.want) {
				t.Errorf("%+v: %#x callsite %v: got %v, want %v", c, l.address, l.callsite, got, l.want)
			}
		}
		want := []string{"main.first", "main.outer", "main.inner[...]", "main.last"}
		if got := slices.Collect(f.Functions()); !slices.Equal(got, want) {
			t.Errorf("%+v: functions %v", c, got)
		}
		if got, ok := f.Address(0x123); !ok || got != tinyBase+0x123 {
			t.Errorf("%+v: address %#x %v", c, got, ok)
		}
		if got, ok := f.Address(1 << 40); ok {
			t.Errorf("%+v: address %#x outside of the file", c, got)
		}
	}
}

// TestSeveralTextSections is about the last function being somewhere else.
func TestSeveralTextSections(t *testing.T) {
	for _, c := range formats() {
		c.sections = true
		f := c.open(t)
		for address, want := range map[uint64]string{tinyText + 0x4f: "main.outer", tinyText + 0x50: "",
			tinyFar: "main.last", tinyFar + 0xf: "main.last", tinyFar + 0x10: ""} {
			got := ""
			if frames := f.Lookup(address, false); len(frames) > 0 {
				got = frames[len(frames)-1].Func
			}
			if got != want {
				t.Errorf("%+v: %#x: got %q, want %q", c, address, got, want)
			}
		}
	}
}

// TestWrongTree is about a tree that is not where it is looked for, as it may
// be in a later Go: no inlined calls are better than wrong ones, and no line is
// better than that of another function.
func TestWrongTree(t *testing.T) {
	for _, c := range formats() {
		c.parent = 0x1000 // outside of the function
		f := c.open(t)
		if got, want := f.Lookup(tinyText+0x20, false), []Frame{{Func: "main.outer"}}; !slices.Equal(got, want) {
			t.Errorf("%+v: got %v, want %v", c, got, want)
		}
		// Where nothing was inlined the line is that of the function.
		if got, want := f.Lookup(tinyText+0x30, false), []Frame{{"main.outer", "main.go", 12, c.start(9)}}; !slices.Equal(got, want) {
			t.Errorf("%+v: got %v, want %v", c, got, want)
		}
	}
}

// TestUnknownReleaseIsDoubted is about programs of a Go that is not in the table: no
// name of an inlined call is guessed, and what is told is marked.
func TestUnknownReleaseIsDoubted(t *testing.T) {
	for version, want := range map[string]string{
		"go1.28.3":                        "Go 1.28 is newer than this folio knows: function names and lines may be wrong",
		"go1.100":                         "Go 1.100 is newer than this folio knows: function names and lines may be wrong",
		"devel go1.27-0123abcd Mon Jan 5": "Go 1.27-devel is not a release that this folio knows: function names and lines may be wrong",
		"go1.28-devel_0123abcd":           "Go 1.28-devel is not a release that this folio knows: function names and lines may be wrong",
		"unknown":                         "the version of Go that built it is unknown: function names and lines may be wrong",
		"go1.17.13":                       "Go 1.17 is older than this folio knows: function names and lines may be wrong",
	} {
		c := tiny{order: binary.LittleEndian, pointer: 8, parent: 8, version: version}
		f := c.open(t)
		if got := f.Doubt(); got != want {
			t.Errorf("%s: got %q, want %q", version, got, want)
		}
		if got, want := f.Lookup(tinyText+0x20, false), []Frame{{Func: "main.outer"}}; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", version, got, want)
		}
		if got, want := f.Lookup(tinyText, false), []Frame{{"main.first", "main.go", 3, c.start(2)}}; !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", version, got, want)
		}
	}
}

// TestEveryReleaseIsCertain is about the table of releases: it has no gap, and each
// layout is read as it says.
func TestEveryReleaseIsCertain(t *testing.T) {
	for minor := releases[0].from; minor <= newest; minor++ {
		version := fmt.Sprintf("go1.%d.1 X:arenas", minor)
		c := tiny{order: binary.LittleEndian, pointer: 8, parent: 8, go118: minor < 20, version: version}
		f := c.open(t)
		if doubt := f.Doubt(); doubt != "" {
			t.Errorf("%s: %s", version, doubt)
		}
		want := []Frame{{"main.inner[...]", "inner.go", 5, c.start(4)}, {"main.outer", "main.go", 10, c.start(9)}}
		if got := f.Lookup(tinyText+0x20, false); !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", version, got, want)
		}
	}
}

// The layouts that are known are those that folio version promises.
func TestSupported(t *testing.T) {
	s := goversion.SupportOf(goversion.Profiles)
	if from, to := fmt.Sprintf("go1.%d", releases[0].from), fmt.Sprintf("go1.%d", newest); s.From != from || s.To != to {
		t.Errorf("layouts of %s to %s, supported %s to %s", from, to, s.From, s.To)
	}
}
