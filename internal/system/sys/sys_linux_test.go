package sys

import (
	"bytes"
	"os"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/test/testenv"
)

func mapTest(t *testing.T, pages int) (unsafe.Pointer, []byte) {
	t.Helper()
	size := uintptr(pages * os.Getpagesize())
	p, err := Mmap(size, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := Munmap(uintptr(p), size); err != nil {
			t.Error(err)
		}
	})
	if err := Madvise(uintptr(p), size, unix.MADV_NOHUGEPAGE); err != nil && err != unix.EINVAL {
		t.Fatal(err)
	}
	return p, unsafe.Slice((*byte)(p), size) // Safety: mapped until the end of the test.
}

func TestPagemap(t *testing.T) {
	page := os.Getpagesize()
	p, b := mapTest(t, 10)
	b[3*page], b[4*page], b[9*page] = 1, 1, 1
	if b[6*page] != 0 {
		t.Error("not zero")
	}
	m, err := OpenPagemap(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()

	entries := make([]Entry, 10)
	if n, err := m.Read(uintptr(p), page, entries); n != 10 || err != nil {
		t.Fatalf("Read: %d, %v", n, err)
	}
	for i, e := range entries {
		written := i == 3 || i == 4 || i == 9
		if e.Present() != (written || i == 6) || e.Exclusive() != written || e.Swapped() || e.File() {
			t.Errorf("page %d: %#x", i, uint64(e))
		}
	}
	if n, err := m.Read(uintptr(p), page, nil); n != 0 || err != nil {
		t.Errorf("Read of nothing: %d, %v", n, err)
	}

	// Two regions at a time: it says where to go on.
	regions := make([]Region, 2)
	var got []Region
	for at, end := uintptr(p), uintptr(p)+uintptr(len(b)); at < end; {
		n, next, err := m.Scan(at, end, regions)
		if err == unix.ENOTTY {
			testenv.Missing(t, "PAGEMAP_SCAN needs Linux 6.7")
		}
		if err != nil || next <= at {
			t.Fatalf("Scan: %v, next %#x", err, next)
		}
		got = append(got, regions[:n]...)
		at = next
	}
	want := []struct {
		first, end int
		category   Category
	}{{3, 5, Present}, {6, 7, Present | ZeroPage}, {9, 10, Present}}
	if len(got) != len(want) {
		t.Fatalf("regions %+v", got)
	}
	for i, w := range want {
		start := uint64(uintptr(p))
		if got[i] != (Region{start + uint64(w.first*page), start + uint64(w.end*page), w.category}) {
			t.Errorf("region %+v, want %+v from %#x", got[i], w, start)
		}
	}
	if _, _, err := m.Scan(uintptr(p)+1, uintptr(p)+2, regions); err != unix.EINVAL {
		t.Errorf("Scan of no whole page: %v", err)
	}
}

// The kernel holds the lock of the mappings for no more than a piece.
func TestScanInPieces(t *testing.T) {
	const more = 2 << 20
	p, b := mapTest(t, (pieceBytes+more)/os.Getpagesize())
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	m, err := OpenPagemap(0)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	start, into := uintptr(p), make([]Region, 2)
	for name, scan := range map[string]func(start, end uintptr, into []Region) (int, uintptr, error){"Scan": m.Scan, "ScanFiles": m.ScanFiles} {
		n, next, err := scan(start, start+uintptr(len(b)), into)
		if err == unix.ENOTTY {
			testenv.Missing(t, "PAGEMAP_SCAN needs Linux 6.7")
		}
		if want := (Region{uint64(start), uint64(start) + pieceBytes, Present}); err != nil || n != 1 || next != start+pieceBytes || into[0] != want {
			t.Errorf("%s: %d, %#x, %v, %+v; want %+v", name, n, next, err, into[0], want)
		}
		if n, next, err = scan(next, start+uintptr(len(b)), into); err != nil || n != 1 || next != start+uintptr(len(b)) || into[0].End-into[0].Start != more {
			t.Errorf("%s, the rest: %d, %#x, %v, %+v", name, n, next, err, into[0])
		}
		if n, next, err = scan(0, 3*pieceLength, into); err != nil || n == 0 && next != pieceLength {
			t.Errorf("%s of nothing: %d, %#x, %v", name, n, next, err)
		}
	}
}

// Between pieces a thread that waits for the lock gets it.
func TestScanPauses(t *testing.T) {
	m, err := OpenPagemap(0)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	paused := 0
	m.rest = func() { paused++ }
	into := make([]Region, 1)
	scan := func(held time.Duration) {
		m.held = held
		if _, _, err := m.Scan(0, 0, into); err == unix.ENOTTY {
			testenv.Missing(t, "PAGEMAP_SCAN needs Linux 6.7")
		} else if err != nil {
			t.Fatal(err)
		}
	}
	for try := 0; ; try++ { // a machine with other work can take long for a short call
		if scan(0); paused == 0 {
			break
		}
		if paused = 0; try == 1000 {
			t.Fatal("it pauses after each call")
		}
	}
	if m.held == 0 {
		t.Error("the time that it holds the lock is not counted")
	}
	if scan(heldMost); paused != 1 || m.held != 0 {
		t.Errorf("%d pauses, held %v", paused, m.held)
	}
	sleep() // returns
}

func TestPagemapOfNobody(t *testing.T) {
	if m, err := OpenPagemap(1 << 30); err == nil {
		m.Close()
		t.Error("no error")
	}
}

func TestReadMemory(t *testing.T) {
	page := os.Getpagesize()
	p, b := mapTest(t, 2)
	copy(b[page-2:], "abcd")
	dst := make([]byte, 4)
	if n, err := ReadMemory(dst, uintptr(p)+uintptr(page)-2); n != 4 || err != nil || string(dst) != "abcd" {
		t.Errorf("%q, %d, %v", dst, n, err)
	}
	if n, err := ReadMemory(nil, 0); n != 0 || err != nil {
		t.Errorf("nothing: %d, %v", n, err)
	}
	if _, err := ReadMemory(dst, 0); err != unix.EFAULT {
		t.Errorf("at 0: %v", err)
	}
}

func TestSetName(t *testing.T) {
	p, b := mapTest(t, 1)
	err := SetName(uintptr(p), uintptr(len(b)), "sys test")
	if err == unix.EINVAL {
		t.Skip("a kernel without CONFIG_ANON_VMA_NAME") // most tests of names are elsewhere
	}
	maps, readErr := os.ReadFile("/proc/self/maps")
	if err != nil || readErr != nil || !bytes.Contains(maps, []byte("[anon:sys test]")) {
		t.Errorf("SetName: %v, %v", err, readErr)
	}
	if err := SetName(0, 0, "a\x00b"); err == nil {
		t.Error("a name with a zero is taken")
	}
}

func TestTHPDisabled(t *testing.T) {
	if n, err := THPDisabled(); err != nil || n < 0 {
		t.Errorf("%d, %v", n, err)
	}
}
