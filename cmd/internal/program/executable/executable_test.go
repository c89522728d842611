package executable

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/base/input"
	_ "github.com/foliomem/folio/internal/test/testenv" // temporary files are gone with the tests
)

// own returns the test's own program.
func own(t testing.TB) (path string, data []byte) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if data, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte(elf.ELFMAG)) {
		t.Skip("programs of this system are not ELF files")
	}
	return path, data
}

func TestReadBuild(t *testing.T) {
	path, data := own(t)
	b, err := ReadBuild(path)
	if err != nil || b.GoVersion != runtime.Version() || b.Module != "github.com/foliomem/folio/cmd" {
		t.Errorf("%+v, %v", b, err)
	}
	// The kernel runs it without section headers as well.
	bare := bytes.Clone(data)
	clear(bare[0x28:0x30])
	clear(bare[0x3c:0x40])
	if b, err := BuildOf(bytes.NewReader(bare), int64(len(bare))); err != nil || b.GoVersion != runtime.Version() ||
		b.Module != "github.com/foliomem/folio/cmd" {
		t.Errorf("without sections: %+v, %v", b, err)
	}
	// Cut off or changed anywhere, it is read or is not, and never more than is there.
	f, _, err := New(bytes.NewReader(data), int64(len(data)))
	if err != nil || f.Section(".go.buildinfo") == nil {
		t.Fatalf("%v: no section .go.buildinfo", err)
	}
	info := int(f.Section(".go.buildinfo").Offset)
	if b, err := parseBuild(bare[info:]); err != nil || b.GoVersion != runtime.Version() {
		t.Fatalf("%+v, %v", b, err)
	}
	for n := range 200 {
		if b, err := parseBuild(bare[info : info+n]); err != nil && !errors.Is(err, ErrNotGo) || err == nil && b.GoVersion != runtime.Version() {
			t.Errorf("%d bytes: %+v, %v", n, b, err)
		}
	}
	for _, n := range []int{buildAlign - 1, buildHeader} {
		lies := bytes.Clone(bare[info : info+200])
		lies[n] = 0
		if b, err := parseBuild(lies); !errors.Is(err, ErrNotGo) {
			t.Errorf("byte %d is 0: %+v, %v", n, b, err)
		}
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{script, "/bin/sh"} {
		if b, err := ReadBuild(path); !errors.Is(err, ErrNotGo) {
			t.Errorf("%s: %+v, %v", path, b, err)
		}
	}
	if _, err := ReadBuild(filepath.Dir(path)); !errors.Is(err, input.ErrNotRegular) {
		t.Errorf("a directory: %v", err)
	}
}

func TestHeadersThatLie(t *testing.T) {
	_, data := own(t)
	half := func(at int, v uint16) func([]byte) {
		return func(b []byte) { binary.NativeEndian.PutUint16(b[at:], v) }
	}
	for _, c := range []struct {
		name     string
		change   func(b []byte)
		sections bool   // are read
		err      string // "" for none
	}{
		{"nothing", func([]byte) {}, true, ""},
		{"the size of a section header", half(58, 0xffff), false, ""},
		{"more sections than the file has room for", half(60, 0xff00), false, ""},
		{"sections after the end", func(b []byte) { binary.NativeEndian.PutUint64(b[40:], 1<<40) }, false, ""},
		{"sections before the start", func(b []byte) { binary.NativeEndian.PutUint64(b[40:], 1<<63+1) }, false, ""},
		{"names in no section", half(62, 0xfffe), false, ""},
		{"the size of a program header", half(54, 0xffff), false, "corrupt"},
		{"more segments than any program has", half(56, 0xfff0), false, "4096 segments"},
		{"segments after the end", func(b []byte) { binary.NativeEndian.PutUint64(b[32:], 1<<40) }, false, "corrupt"},
		{"no ELF", func(b []byte) { b[0] = 0 }, false, ErrNotELF.Error()},
	} {
		b := bytes.Clone(data)
		c.change(b)
		f, _, err := New(bytes.NewReader(b), int64(len(b)))
		switch {
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: %v, want %s", c.name, err, c.err)
		case c.err == "" && (err != nil || (len(f.Sections) > 0) != c.sections):
			t.Errorf("%s: %v", c.name, err)
		}
	}
	for n := range 64 {
		if f, _, err := New(bytes.NewReader(data[:n]), int64(n)); err == nil {
			t.Errorf("%d bytes: %v", n, f)
		}
	}
}

func FuzzNew(f *testing.F) {
	_, data := own(f)
	f.Add(data[:512], uint16(60), uint64(3))
	f.Fuzz(func(_ *testing.T, head []byte, at uint16, v uint64) {
		if int(at)+8 <= len(head) {
			binary.NativeEndian.PutUint64(head[at:], v)
		}
		if f, whole, err := New(bytes.NewReader(head), int64(len(head))); err == nil {
			for _, name := range []string{"info", "abbrev"} {
				_, _ = Debug(f, name, 1<<20)
			}
			_, _ = BuildOf(whole, int64(len(head)))
		}
	})
}
