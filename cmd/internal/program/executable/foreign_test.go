package executable

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"testing"
)

// A part is a section of a file that a test makes.
type part struct {
	name string
	kind elf.SectionType
	data []byte
}

// file makes an ELF file for amd64 with these sections, and with what stands behind its
// program headers.
func file(behind string, parts ...part) []byte {
	const head, segment, section = 64, 56, 64
	names := []byte{0}
	body := bytes.NewBuffer(make([]byte, head+segment))
	body.WriteString(behind)
	headers := make([]byte, section)
	add := func(p part) {
		h := make([]byte, section)
		binary.LittleEndian.PutUint32(h, uint32(len(names)))
		binary.LittleEndian.PutUint32(h[4:], uint32(p.kind))
		binary.LittleEndian.PutUint64(h[16:], uint64(body.Len())) // its address
		binary.LittleEndian.PutUint64(h[24:], uint64(body.Len()))
		binary.LittleEndian.PutUint64(h[32:], uint64(len(p.data)))
		headers = append(headers, h...)
		names = append(append(names, p.name...), 0)
		body.Write(p.data)
	}
	for _, p := range parts {
		for body.Len()%16 != 0 {
			body.WriteByte(0)
		}
		add(p)
	}
	count, at := uint16(0), uint64(0)
	if len(parts) > 0 {
		add(part{".shstrtab", elf.SHT_STRTAB, append(names, ".shstrtab\x00"...)})
		count, at = uint16(len(parts)+2), uint64(body.Len())
		body.Write(headers)
	}
	b := body.Bytes()
	copy(b, elf.ELFMAG+"\x02\x01\x01")
	le := binary.LittleEndian
	le.PutUint16(b[16:], uint16(elf.ET_EXEC))
	le.PutUint16(b[18:], uint16(elf.EM_X86_64))
	le.PutUint32(b[20:], 1)
	le.PutUint64(b[32:], head) // segments
	le.PutUint64(b[40:], at)
	le.PutUint16(b[52:], head)
	le.PutUint16(b[54:], segment)
	le.PutUint16(b[56:], 1)
	le.PutUint16(b[58:], section)
	le.PutUint16(b[60:], count)
	le.PutUint16(b[62:], max(count, 1)-1)
	le.PutUint32(b[head:], uint32(elf.PT_LOAD))
	le.PutUint32(b[head+4:], uint32(elf.PF_R|elf.PF_W))
	le.PutUint64(b[head+32:], uint64(len(b))) // all of it, at address 0
	le.PutUint64(b[head+40:], uint64(len(b)))
	return b
}

// linked are the sections of a file that is linked with this library.
func linked(tag elf.DynTag, name string) []part {
	text := []byte("\x00libc.so.6\x00" + name + "\x00")
	var d []byte
	for _, n := range []uint64{uint64(elf.DT_NEEDED), 1, uint64(tag), 11, 0, 0} {
		d = binary.LittleEndian.AppendUint64(d, n)
	}
	return []part{{".dynstr", elf.SHT_STRTAB, text}, {".dynamic", elf.SHT_DYNAMIC, d}}
}

// buildInfo is the build information that a linker of Go writes.
func buildInfo(version string) part {
	b := make([]byte, buildHeader)
	copy(b, buildMagic)
	b[14], b[15] = 8, flagInline
	b = append(append(b, byte(len(version))), version...)
	return part{".go.buildinfo", elf.SHT_PROGBITS, append(b, 0)}
}

func table(magic uint32) part {
	b := make([]byte, 64)
	binary.LittleEndian.PutUint32(b, magic)
	b[6], b[7] = 1, 8
	return part{".gopclntab", elf.SHT_PROGBITS, b}
}

func texts(name, text string) part {
	return part{name, elf.SHT_STRTAB, []byte("\x00main\x00" + text + "\x00end\x00")}
}

// TestForeign tells who made a file by the structure of the file.
func TestForeign(t *testing.T) {
	long := bytes.Repeat([]byte("a_symbol\x00"), 20_000)
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"UPX", file("\x00\x00\x00\x00UPX!\x00\x00\x0d\x16rest of it"), UPX},
		{"UPX, by what it puts at the end", append(file("nothing at all"), "UPX!\x0d\x16\x08\x0a, and 36 bytes in all up to here"[:36]...), UPX},
		{"the mark elsewhere", file("\x00\x00\x00\x00\x00\x00\x00\x00UPX!"), ""},
		{"gccgo", file("", part{".go_export", elf.SHT_PROGBITS, []byte("v3;\n")}), GccGo},
		{"gccgo, stripped", file("", linked(elf.DT_NEEDED, "libgo.so.21")...), GccGo},
		{"libgo", file("", linked(elf.DT_SONAME, "libgo.so.22")...), GccGo},
		{"another library", file("", linked(elf.DT_NEEDED, "libgobject-2.0.so.0")...), ""},
		{"TinyGo", file("", texts(".strtab", "tinygo_startTask")), TinyGo},
		{"TinyGo, with many symbols", file("", part{".strtab", elf.SHT_STRTAB, append(long, "tinygo_scanstack\x00"...)}), TinyGo},
		{"TinyGo, by its debug information", file("", part{".debug_str", elf.SHT_PROGBITS, []byte("\x00TinyGo\x00main.go\x00")}), TinyGo},
		{"another symbol", file("", texts(".strtab", "not_tinygo_at_all")), ""},
		{"garble", file("", buildInfo("unknown"), table(0x6333c187)), Garble},
		{"garble without sections of the table", file("", buildInfo("unknown")), Garble},
		{"a version that was set at link time", file("", buildInfo("unknown"), table(0xfffffff1)), ""},
		{"Go", file("", buildInfo("go1.26.8"), table(0xfffffff1)), ""},
		{"Go that names TinyGo", file("", buildInfo("go1.26.8"), table(0xfffffff1), texts(".strtab", "tinygo_startTask")), ""},
		{"nothing", file(""), ""},
		{"no ELF file", []byte("#!/bin/sh\n"), ""},
	} {
		got := ""
		if err := Foreign(bytes.NewReader(c.data), int64(len(c.data))); err != nil {
			got = err.Maker
			if notGo := errors.Is(err, ErrNotGo); notGo == (got == Garble) {
				t.Errorf("%s: ErrNotGo is %v", c.name, notGo)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		for n := range len(c.data) { // cut off anywhere, it harms nobody
			Foreign(bytes.NewReader(c.data[:n]), int64(n))
			if n > 2000 {
				break
			}
		}
	}
	_, data := own(t)
	if err := Foreign(bytes.NewReader(data), int64(len(data))); err != nil {
		t.Errorf("this test: %v", err)
	}
}

// FuzzForeign looks for files that it does not come back from.
func FuzzForeign(f *testing.F) {
	f.Add(file("\x00\x00\x00\x00UPX!"))
	f.Add(file("", linked(elf.DT_NEEDED, "libgo.so.21")...))
	f.Add(file("", texts(".strtab", "tinygo_startTask")))
	f.Add(file("", buildInfo("unknown"), table(1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := Foreign(bytes.NewReader(data), int64(len(data))); err != nil && err.Error() == "" {
			t.Errorf("%q without words", err.Maker)
		}
	})
}

// TestMarked finds what go build puts into files.
func TestMarked(t *testing.T) {
	note := []byte("\x04\x00\x00\x00\x08\x00\x00\x00\x03\x00\x00\x00GNU\x00abcdefgh\x04\x00\x00\x00\x04\x00\x00\x00\x04\x00\x00\x00Go\x00\x00id/d")
	noted := func(n []byte) []byte {
		b := file(string(n))
		le := binary.LittleEndian
		le.PutUint32(b[64:], uint32(elf.PT_NOTE))
		le.PutUint64(b[64+8:], 64+56)
		le.PutUint64(b[64+32:], uint64(len(n)))
		return b
	}
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"section", file("", buildInfo("go1.26.8")), true},
		{"note alone, behind another", noted(note), true},
		{"another note", noted(note[:24]), false},
		{"none", file("", texts(".strtab", "x")), false},
	} {
		f, _, err := New(bytes.NewReader(c.data), int64(len(c.data)))
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if got := Marked(f); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
