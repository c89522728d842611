package symbol

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestSpan(t *testing.T) {
	data := make([]byte, 3*blockSize+10)
	for i := range data {
		data[i] = byte(i%251) + 1
	}
	copy(data[blockSize-3:], "across\x00")
	long := bytes.Repeat([]byte("x"), blockSize+5)
	copy(data[2*blockSize-1:], append(long, 0))
	all := newSource(bytes.NewReader(data), int64(len(data))).all()
	for _, c := range []struct{ off, n int64 }{{0, 8}, {blockSize - 4, 8}, {blockSize - 8, 8}, {blockSize, 8}, {int64(len(data)) - 8, 8}} {
		if got := all.at(c.off, c.n); !bytes.Equal(got, data[c.off:c.off+c.n]) {
			t.Errorf("%v: %v", c, got)
		}
	}
	for _, c := range []struct{ off, n int64 }{{-1, 8}, {0, 0}, {0, -1}, {int64(len(data)) - 7, 8}, {1 << 62, 8}, {0, blockSize + 1}} {
		if got := all.at(c.off, c.n); got != nil {
			t.Errorf("%v: %v outside of the file", c, got)
		}
	}
	for off, want := range map[int64]string{blockSize - 3: "across", 2*blockSize - 1: string(long), blockSize + 3: ""} {
		if got, ok := all.text(off); !ok || got != want {
			t.Errorf("%d: %q %v", off, got, ok)
		}
	}
	for _, off := range []int64{-1, int64(len(data)) - 3, int64(len(data)), 1 << 62} {
		if got, ok := all.text(off); ok {
			t.Errorf("%d: %q without an end", off, got)
		}
	}
	if got := all.part(10, -1).size + all.part(-1, 5).size + all.part(1<<62, 5).size; got != 0 {
		t.Errorf("parts that do not exist have %d bytes", got)
	}
}

// TestSearch is about patterns on the border of what is read at a time.
func TestSearch(t *testing.T) {
	data := make([]byte, 2*chunkSize+100)
	want := []int64{0, chunkSize - 3, 2*chunkSize - 7, int64(len(data)) - 4}
	for _, off := range want {
		copy(data[off:], "find")
	}
	var got []int64
	newSource(bytes.NewReader(data), int64(len(data))).all().search([]byte("find"), func(off int64) bool {
		got = append(got, off)
		return false
	})
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range got {
		if got[i] != want[i] {
			t.Errorf("got %v, want %v", got, want)
		}
	}
}

// zeros is a large file.
type zeros struct{}

func (zeros) ReadAt(p []byte, _ int64) (int, error) { clear(p); return len(p), nil }

func TestMemoryIsBounded(t *testing.T) {
	all := newSource(zeros{}, 1<<30).all()
	for off := int64(0); off < 2*maxBlocks*blockSize; off += blockSize {
		all.at(off, 8)
	}
	if got := len(all.s.blocks); got != maxBlocks {
		t.Errorf("%d blocks are kept, want %d", got, maxBlocks)
	}
}

// counter counts the bytes that are read from a file.
type counter struct {
	io.ReaderAt
	n int64
}

func (c *counter) ReadAt(p []byte, off int64) (int, error) {
	n, err := c.ReaderAt.ReadAt(p, off)
	c.n += int64(n)
	return n, err
}

func TestLargeFileIsNotReadWhole(t *testing.T) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(strings.TrimSpace(string(goroot)), "bin", "go"))
	if err != nil {
		testenv.Missing(t, "no large program: %v", err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	c := &counter{ReaderAt: file}
	f, err := New(c, info.Size(), nil)
	if err != nil {
		if runtime.GOOS != "linux" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	if frames := f.Lookup(f.elf.Entry, false); len(frames) != 1 || !strings.HasPrefix(frames[0].Func, "_rt0_") {
		t.Errorf("the entry is %v", frames)
	}
	if c.n > info.Size()/5 {
		t.Errorf("%d of %d bytes are read for one name", c.n, info.Size())
	}
}
