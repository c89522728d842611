package symbol

import (
	"bytes"
	"encoding/binary"
	"os"
	"testing"
)

// use asks a file everything.
func use(f *File, address uint64) {
	f.IsGo()
	f.GoVersion()
	f.Address(address)
	useCode(f, address)
	for _, a := range []uint64{address, tinyText + address%0x80, tinyText + 0x20, ^uint64(0), 0} {
		f.Lookup(a, false)
		f.Lookup(a, true)
	}
	n := 0
	for range f.Functions() {
		if n++; n == 1000 {
			break
		}
	}
}

func FuzzPclntab(f *testing.F) {
	for _, c := range formats() {
		table, _ := c.pclntab()
		f.Add(table, uint32(0x20))
	}
	f.Fuzz(func(t *testing.T, data []byte, off uint32) {
		for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
			for _, pointer := range []int64{4, 8} {
				all := newSource(bytes.NewReader(data), int64(len(data))).all()
				table, err := parsePcln(all, order, pointer)
				if err != nil {
					continue
				}
				table.text = tinyText
				// Whatever is there serves as the tree, so that trees are
				// decoded too.
				table.tree = all
				for i := range min(table.functions, 100) {
					if fn, ok := table.function(i); ok {
						table.frames(tinyText + uint64(fn.entry))
						table.frames(tinyText + uint64(fn.end) - 1)
					}
				}
				table.frames(tinyText + uint64(off))
			}
		}
	})
}

func FuzzFile(f *testing.F) {
	for _, c := range formats() {
		f.Add(c.file(), uint64(0x20))
	}
	f.Fuzz(func(t *testing.T, data []byte, address uint64) {
		file, err := New(bytes.NewReader(data), int64(len(data)), nil)
		if err != nil {
			return
		}
		use(file, address)
	})
}

// TestCorruptProgram changes and cuts a real program, which is too large for
// fuzzing: the test itself.
func TestCorruptProgram(t *testing.T) {
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	whole, err := New(bytes.NewReader(data), int64(len(data)), nil)
	if err != nil || whole.pcln == nil {
		t.Skipf("programs of this system are not in the ELF format: %v", err)
	}
	start := whole.pcln.names.off - whole.pcln.starts[0]
	address := whole.elf.Entry
	if frames := whole.Lookup(address, false); len(frames) == 0 {
		t.Errorf("the entry %#x has no name", address)
	}
	for cut := len(data); cut > 0; cut = cut * 3 / 4 {
		if f, err := New(bytes.NewReader(data[:cut]), int64(cut), nil); err == nil {
			use(f, address)
		}
	}
	// Each word of the header, and some of every table.
	places := []int64{}
	for i := range int64(9) {
		places = append(places, start+8*i)
	}
	for _, p := range []span{whole.pcln.funcs, whole.pcln.units, whole.pcln.pcs, whole.pcln.tree} {
		places = append(places, p.off, p.off+8, p.off+p.size/2)
	}
	for _, at := range places {
		for _, value := range []uint64{0, 1, 1 << 31, ^uint64(0) >> 1, ^uint64(0)} {
			old := bytes.Clone(data[at : at+8])
			binary.LittleEndian.PutUint64(data[at:], value)
			if f, err := New(bytes.NewReader(data), int64(len(data)), nil); err == nil {
				use(f, address)
			}
			copy(data[at:], old)
		}
	}
}
