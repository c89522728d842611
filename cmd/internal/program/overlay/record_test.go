package overlay

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRecord(t *testing.T) {
	list, err := Lookup(HeapHugePages, HeapMinimum)
	if err != nil {
		t.Fatal(err)
	}
	want := newRecord(&Toolchain{Version: "go1.26.8 X:arenas"}, list)
	if want.Go != "go1.26.8" || want.String() != "heap-hugepages, heap-minimum" || !strings.Contains(want.source(), want.text()) {
		t.Errorf("%+v", want)
	}
	// Across the edges of what is read at once, after marks that begin no record.
	for _, at := range []int{0, 7, 1<<20 - 20, 1 << 20, 1<<20 + longest - 10, 3<<20 - 1} {
		data := append(bytes.Repeat([]byte(mark), at/len(mark)), bytes.Repeat([]byte{0}, at%len(mark))...)
		data = append(append(data, want.text()...), "and more"...)
		got, err := Read(bytes.NewReader(data))
		if err != nil || got == nil || got.text() != want.text() {
			t.Errorf("at %d: %+v, %v", at, got, err)
		}
		if got, err := Read(bytes.NewReader(data[:at])); got != nil || err != nil {
			t.Errorf("without, %d: %+v, %v", at, got, err)
		}
	}
	if _, err := Read(iotest.ErrReader(os.ErrPermission)); err == nil {
		t.Error("no error")
	}
	// This test has the mark, and is not patched.
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ReadFile(self); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := ReadFile(self + "x"); err == nil {
		t.Error("no error for no file")
	}
}

func FuzzRead(f *testing.F) {
	// Joined while it runs: the test itself must hold no record.
	f.Add([]byte(strings.Join([]string{mark, "go1.26.8:heap-hugepages@0123456789ab,x@y;"}, "")))
	f.Add([]byte(strings.Join([]string{mark, mark, "go1.26.8:x;"}, "")))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := Read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if r != nil && (len(r.Patches) == 0 || !bytes.Contains(data, []byte(r.text()))) {
			t.Errorf("%+v", r)
		}
	})
}
