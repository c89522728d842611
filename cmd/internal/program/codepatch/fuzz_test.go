package codepatch

import (
	"bytes"
	"debug/elf"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// damaged is a file with other bytes in some place.
type damaged struct {
	io.ReaderAt
	off  int64
	data []byte
}

func (d damaged) ReadAt(p []byte, off int64) (int, error) {
	n, err := d.ReaderAt.ReadAt(p, off)
	for i, v := range d.data {
		if at := d.off + int64(i) - off; at >= 0 && at < int64(n) {
			p[at] = v
		}
	}
	return n, err
}

// self is this test's program, which is built as all Go programs are.
func self(t testing.TB) (*os.File, int64) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	if s, err := symbol.New(f, info.Size(), nil); err != nil || s.Machine() != elf.EM_X86_64 && s.Machine() != elf.EM_AARCH64 {
		t.Skipf("programs of this system are not what is patched: %v", err)
	}
	return f, info.Size()
}

func findIn(r io.ReaderAt, size int64) (*Patch, error) {
	s, err := symbol.New(r, size, nil)
	if err != nil {
		return nil, err
	}
	return Find(s)
}

// interesting are the places in this program that Find reads.
func interesting(t testing.TB, f *os.File, size int64) (out []int64) {
	s, err := symbol.New(f, size, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Find(s)
	if err != nil {
		t.Fatal(err)
	}
	e, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	out = append(out, 0, 64)
	for _, section := range e.Sections {
		out = append(out, int64(section.Offset))
		if section.Name == ".gopclntab" {
			for i := range int64(16) {
				out = append(out, int64(section.Offset)+4*i, int64(section.Offset+section.Size/16*uint64(i)))
			}
		}
	}
	for _, c := range []Code{p.Proof.MapOS, p.Proof.NoHugePageOS, p.Proof.HugePageOS} {
		off, _ := s.Offset(c.Address)
		for i := range int64(len(c.Bytes) / 16) {
			out = append(out, off+16*i)
		}
	}
	s.Pointers(p.Proof.DisableTHP, func(at uint64) bool {
		off, _ := s.Offset(at)
		out = append(out, off, off-8, off-16)
		return false
	})
	return out
}

// TestDamagedProgram damages a real program in the places that are read: it is
// refused, or the edits are what they were.
func TestDamagedProgram(t *testing.T) {
	f, size := self(t)
	good, err := findIn(f, size)
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("%x", good.Edits)
	random := rand.New(rand.NewPCG(1, 2))
	accepted, refused := 0, 0
	for _, at := range interesting(t, f, size) {
		for range 4 {
			data := make([]byte, 1+random.IntN(8))
			for i := range data {
				data[i] = byte(random.Uint32())
			}
			p, err := findIn(damaged{f, at + random.Int64N(16), data}, size)
			switch {
			case err != nil:
				refused++
			case p.Applied || fmt.Sprintf("%x", p.Edits) != want:
				t.Errorf("%x at %#x: accepted with %x, want %s", data, at, p.Edits, want)
			default:
				accepted++
			}
		}
	}
	if accepted == 0 || refused == 0 {
		t.Errorf("%d accepted, %d refused: want some of each", accepted, refused)
	}
	for cut := size; cut > 0; cut = cut * 3 / 4 {
		if _, err := findIn(f, cut); err == nil && cut < size/2 {
			t.Errorf("accepted when cut off at %d of %d", cut, size)
		}
	}
}

// FuzzProgram damages a real program anywhere.
func FuzzProgram(f *testing.F) {
	file, size := self(f)
	for _, at := range interesting(f, file, size) {
		f.Add(at, []byte{0xff, 0, 1})
	}
	good, err := findIn(file, size)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, at int64, data []byte) {
		p, err := findIn(damaged{file, at, data}, size)
		// A change of the edited bytes themselves is not accepted, so that these
		// are the only ones that fit.
		if err == nil && !p.Applied && !bytes.Equal(p.Edits[0].New, good.Edits[0].New) && p.Entry == good.Entry &&
			p.Proof.MapOS.Address == good.Proof.MapOS.Address && p.Proof.HugePageOS.Address == good.Proof.HugePageOS.Address {
			t.Errorf("%x at %#x: edits %x", data, at, p.Edits)
		}
	})
}

// FuzzBytes reads what may be no program at all.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("#!/bin/sh\n"))
	f.Add([]byte(elf.ELFMAG))
	file, _ := self(f)
	head := make([]byte, 4096)
	_, _ = file.ReadAt(head, 0)
	f.Add(head)
	f.Fuzz(func(t *testing.T, data []byte) {
		r := bytes.NewReader(data)
		if Magic(r) != nil {
			return
		}
		if p, err := findIn(r, int64(len(data))); err == nil && p == nil {
			t.Error("neither a patch nor an error")
		}
	})
}

// TestMemoryIsBounded: a table of functions that says it has as many as the
// file has room for costs no more memory than a good one.
func TestMemoryIsBounded(t *testing.T) {
	f, size := self(t)
	e, err := elf.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	section := e.Section(".gopclntab")
	if section == nil {
		section = e.Section(".data.rel.ro.gopclntab")
	}
	if section == nil {
		t.Skip("no section has the table")
	}
	funcs := section.Size / 16
	data := []byte{byte(funcs), byte(funcs >> 8), byte(funcs >> 16), byte(funcs >> 24), 0, 0, 0, 0}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begin := time.Now()
	_, _ = findIn(damaged{f, int64(section.Offset) + 8, data}, size)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 256<<20 {
		t.Errorf("%d MiB allocated in %v", n>>20, time.Since(begin))
	}
}
