package arena

import (
	"errors"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/test/testenv"
)

// TestTouchedWindows: a window that somebody has touched in part becomes a huge page when a slab
// needs the rest of it; one that is untouched is left to its first fault, one that is nearly full
// as it is.
func TestTouchedWindows(t *testing.T) {
	if err := page.Allowed(page.THP, 0); err != nil {
		testenv.Missing(t, "huge pages: %v", err)
	}
	const windows = 3
	size, base := page.HugeSize(), page.Size()
	memory, err := unix.Mmap(-1, 0, (windows+1)*size, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Munmap(memory)
	r := page.RangeOf(memory).Inward(size)
	memory = memory[r.Start-page.RangeOf(memory).Start:]
	if r = page.RangeOf(memory[:windows*size]); r.Advise(page.AdviseNoHuge) != nil {
		t.Fatal("cannot have base pages")
	}
	touched := size / 8
	for i := 0; i < touched; i += base {
		memory[i] = byte(i/base) + 1
	}
	full := size * 7 / 8
	for i := 0; i < full; i += base {
		memory[2*size+i] = 1
	}
	if err := r.Advise(page.AdviseHuge); err != nil {
		t.Fatal(err)
	}
	// Works only where the kernel can do both.
	if _, err := page.RangeOf(memory[size : 2*size]).Collapse(nil); errors.Is(err, page.ErrNotSupported) {
		testenv.Missing(t, "MADV_COLLAPSE: %v", err)
	}
	fillWindows(r)

	for i, want := range []struct{ resident, huge int }{{size, size}, {0, 0}, {full, 0}} {
		got, err := page.RangeOf(memory[i*size : (i+1)*size]).Residency(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.HugeUnknown > 0 {
			testenv.Missing(t, "PAGEMAP_SCAN")
		}
		if int(got.Resident) != want.resident || int(got.Huge) != want.huge {
			t.Errorf("window %d: %d bytes resident, %d on huge pages, want %d and %d", i, got.Resident, got.Huge, want.resident, want.huge)
		}
	}
	for i := 0; i < touched; i += base {
		if memory[i] != byte(i/base)+1 {
			t.Fatal("contents changed")
		}
	}
}
