package executable

import (
	"bytes"
	"debug/elf"
	"errors"
	"io"
	"strings"
)

// Makers of programs whose Go runtime cannot be read, or is not that of go build.
const (
	UPX    = "UPX"
	GccGo  = "gccgo"
	TinyGo = "TinyGo"
	Garble = "garble"
)

// A ForeignError says that a program was made by one of these. It is an [ErrNotGo], but for
// programs of garble: they have the runtime of go build, and build information.
type ForeignError struct{ Maker string }

func (e *ForeignError) Error() string {
	switch e.Maker {
	case UPX:
		return "packed (UPX): its code is not in the file; unpack it with upx -d"
	case Garble:
		return "obfuscated (garble): its version of Go and its table of functions are hidden; build it without garble"
	}
	return "built with " + e.Maker + ": only the runtime of the standard toolchain (go build) can be read"
}

// Is makes it an [ErrNotGo].
func (e *ForeignError) Is(target error) bool { return target == ErrNotGo && e.Maker != Garble }

// IsGo reports whether it was written in Go; known is false where that cannot be seen.
func (e *ForeignError) IsGo() (isGo, known bool) { return e.Maker != UPX, e.Maker != UPX }

// Foreign returns who made a program of this size, by the structure of its file; nil if it
// was none of those makers, or if the file cannot be read.
func Foreign(r io.ReaderAt, size int64) *ForeignError {
	f, whole, err := New(r, size)
	if err != nil {
		return nil
	}
	maker := ""
	switch build, err := BuildOf(r, size); {
	case err == nil && build.GoVersion == garbled && !hasTable(f):
		maker = Garble
	case err == nil:
	case packed(whole, size):
		maker = UPX
	case ofGccGo(f):
		maker = GccGo
	case ofTinyGo(f):
		maker = TinyGo
	}
	if maker == "" {
		return nil
	}
	return &ForeignError{maker}
}

// garbled is the version of Go that garble writes (-X=runtime.buildVersion).
const garbled = "unknown"

// hasTable reports whether the function table begins as go build writes it; garble has
// another first word for each build.
func hasTable(f *elf.File) bool {
	for _, s := range f.Sections {
		if s.Name == ".gopclntab" || s.Name == ".data.rel.ro.gopclntab" {
			var b [4]byte
			_, err := s.ReadAt(b[:], 0)
			return err == nil && f.ByteOrder.Uint32(b[:])&^0xf == 0xfffffff0
		}
	}
	return false
}

// packed reports whether UPX made the file. It has a mark behind the program headers
// (l_info), and begins what it puts at the end of the file with the same (PackHeader).
func packed(r io.ReaderAt, size int64) bool {
	const mark, tail = "UPX!", 36
	h, err := readHeader(r, size)
	if err != nil || h.segments() != nil {
		return false
	}
	for _, at := range []int64{int64(h.phoff+h.phnum*h.phsize) + 4, size - tail} {
		var b [len(mark)]byte
		if _, err := r.ReadAt(b[:], at); at > 0 && err == nil && string(b[:]) == mark {
			return true
		}
	}
	return false
}

// ofGccGo reports whether gccgo built the file: it has the types of its packages in a
// section, and is linked with libgo, or is libgo.
func ofGccGo(f *elf.File) bool {
	if f.Section(".go_export") != nil {
		return true
	}
	found := false
	for _, tag := range []elf.DynTag{elf.DT_NEEDED, elf.DT_SONAME} {
		dynamic(f, tag, func(name string) { found = found || strings.HasPrefix(name, "libgo.so.") })
	}
	return found
}

// ofTinyGo reports whether TinyGo built the file: its runtime has functions in assembly and C
// that begin with its name, and its compiler is named in the debug information.
func ofTinyGo(f *elf.File) bool {
	for _, name := range []string{".strtab", ".dynstr"} {
		if s := f.Section(name); s != nil && contains(s, "\x00tinygo_") {
			return true
		}
	}
	s := f.Section(".debug_str")
	return s != nil && contains(s, "\x00TinyGo\x00")
}

// mostStrings is how much is read of strings in a file: more than the symbols of any program
// of TinyGo have.
const mostStrings = 32 << 20

// contains reports whether a section has a text, as it is in the file.
func contains(s *elf.Section, text string) bool {
	if s.Type == elf.SHT_NOBITS || s.Flags&elf.SHF_COMPRESSED != 0 {
		return false
	}
	const chunk = 64 << 10
	b := make([]byte, chunk)
	for at := int64(0); at < mostStrings; at += chunk - int64(len(text)) {
		n, err := s.ReadAt(b, at)
		if bytes.Contains(b[:n], []byte(text)) {
			return true
		}
		if err != nil || n < chunk {
			return false
		}
	}
	return false
}

// dynamic calls visit with the strings of a tag for the dynamic linker.
func dynamic(f *elf.File, tag elf.DynTag, visit func(string)) {
	const most, longest = 1024, 256
	d, text := f.Section(".dynamic"), f.Section(".dynstr")
	if d == nil || text == nil || d.Type == elf.SHT_NOBITS || text.Type == elf.SHT_NOBITS {
		return
	}
	size := int64(16)
	if f.Class == elf.ELFCLASS32 {
		size = 8
	}
	b := make([]byte, size)
	for i := range int64(most) {
		if _, err := d.ReadAt(b, i*size); err != nil {
			return
		}
		var t, v uint64
		if size == 16 {
			t, v = f.ByteOrder.Uint64(b), f.ByteOrder.Uint64(b[8:])
		} else {
			t, v = uint64(f.ByteOrder.Uint32(b)), uint64(f.ByteOrder.Uint32(b[4:]))
		}
		switch elf.DynTag(t) {
		case elf.DT_NULL:
			return
		case tag:
			name := make([]byte, longest)
			n, err := text.ReadAt(name, int64(v&(1<<40-1)))
			if err != nil && !errors.Is(err, io.EOF) {
				return
			}
			name, _, _ = bytes.Cut(name[:n], []byte{0})
			visit(string(name))
		}
	}
}

// Marked reports whether the headers of a file have what go build puts into each program and
// library: a section of its own, or the note with its build ID. It takes no more than the
// headers; a file without sections and notes may be Go all the same.
func Marked(f *elf.File) bool {
	for _, s := range f.Sections {
		switch s.Name {
		case ".go.buildinfo", ".gopclntab", ".data.rel.ro.gopclntab", ".note.go.buildid":
			return true
		}
	}
	for _, p := range f.Progs {
		const most = 1 << 10
		if p.Type != elf.PT_NOTE {
			continue
		}
		b := make([]byte, most)
		n, _ := p.ReadAt(b, 0) // what is there of it
		var kind [4]byte
		f.ByteOrder.PutUint32(kind[:], 4) // a build ID
		if bytes.Contains(b[:n], append(kind[:], "Go\x00\x00"...)) {
			return true
		}
	}
	return false
}
