package page

import (
	"errors"
	"math"
	"os"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
)

func TestMappingsAreAlignedAndZero(t *testing.T) {
	machines(t, func(t *testing.T, f *fake) {
		for _, kind := range []Kind{Base, THP} {
			for _, commit := range []Commit{Lazy, Touch, Populate, Ahead} {
				if kind == THP && f.huge > 32<<20 && (commit == Touch || commit == Populate) {
					continue // half a GiB
				}
				for _, size := range []int{1, f.page, f.page + 1, 5*f.page - 1} {
					m, err := mapMemory(f, size, &Options{Kind: kind, Commit: commit})
					if kind == THP && f.huge == 0 {
						if !errors.Is(err, ErrNotSupported) {
							t.Fatalf("THP on a kernel that has none: %v", err)
						}
						continue
					}
					if err != nil {
						t.Fatal(err)
					}
					want := f.page
					if kind == THP {
						want = f.huge
					}
					if m.PageSize() != want || m.Len() != roundUp(size, want) || m.Kind() != kind {
						t.Errorf("%v, %d bytes: page size %d, length %d", kind, size, m.PageSize(), m.Len())
					}
					if m.Range().Start%uintptr(want) != 0 || RangeOf(m.Bytes()) != m.Range() {
						t.Errorf("%v, %d bytes: at %v", kind, size, m.Range())
					}
					b := m.Bytes()
					for i := 0; i < len(b); i += f.page {
						if b[i] != 0 {
							t.Fatalf("byte %d is %d", i, b[i])
						}
					}
					b[0], b[len(b)-1] = 1, 2 // the ends are there
					if err := m.Close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	})
}

// present returns which pages are in memory, as a machine with such pages sees it.
func present(t *testing.T, f *fake, r Range) (n uint64) {
	t.Helper()
	own := newFake(f.page, f.huge)
	own.without = []feature.Feature{feature.PagemapScan} // the other way goes page by page
	res, err := residencyRange(own, r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Resident + res.Zero
}

func TestEveryWayToCommit(t *testing.T) {
	machines(t, func(t *testing.T, f *fake) {
		size := 40 * f.page
		for _, without := range [][]feature.Feature{nil, {feature.PopulateWrite}} {
			f.without = without
			for commit, want := range map[Commit]int{Lazy: 0, Touch: size, Populate: size, Ahead: 0} {
				m := mapped(t, f, size, &Options{Commit: commit})
				if got := present(t, f, m.Range()); got != uint64(want) {
					t.Errorf("%v, without %v: %d bytes in memory, want %d", commit, without, got, want)
				}
			}
			m := mapped(t, f, size, nil)
			for i, part := range []struct{ off, n int }{{3 * f.page, f.page}, {7*f.page + 5, f.page}, {size, 0}, {size - 1, 1}} {
				if err := m.Populate(part.off, part.n); err != nil {
					t.Fatal(err)
				}
				if got, want := present(t, f, m.Range()), []int{1, 3, 3, 4}[i]*f.page; got != uint64(want) {
					t.Errorf("Populate(%d, %d), without %v: %d bytes in memory, want %d", part.off, part.n, without, got, want)
				}
			}
		}
	})
}

func TestCommitKeepsContents(t *testing.T) {
	for _, without := range [][]feature.Feature{nil, {feature.PopulateWrite}} {
		f := newFake(os.Getpagesize(), 0)
		f.without = without
		m := mapped(t, f, 4*f.page, nil)
		b := m.Bytes()
		for i := range b {
			b[i] = byte(i * 7)
		}
		if err := m.Populate(1, len(b)-2); err != nil {
			t.Fatal(err)
		}
		for i := range b {
			if b[i] != byte(i*7) {
				t.Fatalf("without %v: byte %d became %d", without, i, b[i])
			}
		}
	}
}

func TestAheadCommitsInPieces(t *testing.T) {
	machines(t, func(t *testing.T, f *fake) {
		m := mapped(t, f, 5<<20+f.page, &Options{Commit: Ahead})
		whole := roundUp(2<<20, f.page)
		for _, upto := range []int{-1, 0, 1, whole, whole + 1, whole / 2, 2*whole + 1, m.Len()} {
			f.advised(0)
			before := m.ahead
			if err := m.PopulateAhead(upto); err != nil {
				t.Fatal(err)
			}
			want := max(before, min(m.Len(), (max(upto, 0)+whole-1)/whole*whole))
			if got := present(t, f, m.Range()); got != uint64(want) {
				t.Errorf("PopulateAhead(%d): %d bytes in memory, want %d", upto, got, want)
			}
			if calls := f.advised(unix.MADV_POPULATE_WRITE); len(calls) > 1 ||
				len(calls) == 0 && want > before && f.have(feature.PopulateWrite) == nil {
				t.Errorf("PopulateAhead(%d): %d calls", upto, len(calls))
			}
		}
		if err := m.PopulateAhead(m.Len() + 1); err == nil {
			t.Error("no error beyond the end")
		}
		m = mapped(t, f, 4*f.page, nil)
		if err := m.PopulateAhead(m.Len()); err != nil || present(t, f, m.Range()) != 0 {
			t.Errorf("PopulateAhead on a lazy mapping: %v, %d bytes in memory", err, present(t, f, m.Range()))
		}
	})
}

func TestReleaseTakesWholePages(t *testing.T) {
	machines(t, func(t *testing.T, f *fake) {
		if f.huge == 0 {
			t.SkipNow() // no huge pages to keep whole
		}
		if f.huge > math.MaxInt/4 {
			t.SkipNow() // more than an address space of 32 bits
		}
		m := mapped(t, f, 3*f.huge, &Options{Kind: THP})
		start := m.Range().Start
		for _, c := range []struct {
			off, n int
			split  bool
			want   Range // offsets
		}{
			{0, 3 * f.huge, false, Range{0, uintptr(3 * f.huge)}},
			{1, 3*f.huge - 1, false, Range{uintptr(f.huge), uintptr(3 * f.huge)}},
			{f.huge - 1, f.huge, false, Range{}},
			{f.huge, f.huge, false, Range{uintptr(f.huge), uintptr(2 * f.huge)}},
			{1, f.huge, true, Range{uintptr(f.page), uintptr(f.huge)}},
			{f.page, f.page, true, Range{uintptr(f.page), uintptr(2 * f.page)}},
			{f.page - 1, f.page, true, Range{}},
			{0, 0, true, Range{}},
		} {
			f.advised(0)
			n, err := m.Release(c.off, c.n, ReleaseDontNeed, &ReleaseOptions{Split: c.split})
			if err != nil || n != int(c.want.Len()) {
				t.Errorf("Release(%d, %d, split %v) = %d, %v; want %d", c.off, c.n, c.split, n, err, c.want.Len())
			}
			var want []Range
			if c.want.Len() > 0 {
				want = []Range{{start + c.want.Start, start + c.want.End}}
			}
			if got := f.advised(unix.MADV_DONTNEED); !slices.Equal(got, want) {
				t.Errorf("Release(%d, %d, split %v) released %v, want %v", c.off, c.n, c.split, got, want)
			}
		}
	})
}

func TestCollapseTakesDenseWindowsOneByOne(t *testing.T) {
	machines(t, func(t *testing.T, f *fake) {
		if f.huge == 0 || f.huge > 32<<20 {
			t.SkipNow() // it fills windows
		}
		const windows = 5
		m := mapped(t, f, windows*f.huge, &Options{Kind: THP})
		at := func(window, share int) int { return int(int64(share) * int64(f.huge) / 100) } // bytes of a window
		for window, percent := range []int{100, 0, 49, 50, 100} {
			n := at(window, percent) &^ (f.page - 1)
			if percent == 50 {
				n = f.huge / 2
			}
			if err := m.Populate(window*f.huge, n); err != nil {
				t.Fatal(err)
			}
		}
		f.advised(0)
		c, err := m.Collapse(0, m.Len(), nil)
		if err != nil || c != (Collapsed{Collapsed: 3, Empty: 1, Sparse: 1}) {
			t.Errorf("Collapse = %+v, %v", c, err)
		}
		start := m.Range().Start
		window := func(i int) Range { return Range{start + uintptr(i*f.huge), start + uintptr((i+1)*f.huge)} }
		if got, want := f.advised(unix.MADV_COLLAPSE), []Range{window(0), window(3), window(4)}; !slices.Equal(got, want) {
			t.Errorf("collapsed %v, want %v", got, want)
		}
		// A window that the range cuts is not taken.
		c, err = m.Collapse(1, 2*f.huge, &CollapseOptions{AnyDensity: true})
		if err != nil || c != (Collapsed{Collapsed: 1}) {
			t.Errorf("Collapse of a part = %+v, %v", c, err)
		}
		if got := f.advised(unix.MADV_COLLAPSE); !slices.Equal(got, []Range{window(1)}) {
			t.Errorf("collapsed %v, want the second window", got)
		}
		calls := 0
		c, err = m.Collapse(0, m.Len(), &CollapseOptions{Stop: func(c Collapsed) bool { calls++; return c.Collapsed == 2 }})
		if err != nil || c.Collapsed != 2 || calls != 3 {
			t.Errorf("Collapse with Stop = %+v, %v after %d calls", c, err, calls)
		}
		// One that the kernel refuses does not keep the others from it; one that
		// it is busy with is tried again.
		for _, e := range []error{unix.ENOMEM, unix.EBUSY, unix.EINVAL, unix.EAGAIN} {
			f.calls = map[string]int{}
			f.fail = func(call string, advice, nth int) error {
				if call == "madvise" && nth < 4 && (nth == 0 || e == unix.EAGAIN) {
					return e
				}
				return nil
			}
			c, err = m.Collapse(0, m.Len(), nil)
			f.fail = nil
			if err != nil || c.Collapsed != 2 || c.Refused != 1 || !errors.Is(c.Reason, e) {
				t.Errorf("Collapse with %v = %+v, %v", e, c, err)
			}
		}
	})
}

func TestWindowSizeIsWhatAHugePageWouldBe(t *testing.T) {
	for page, want := range map[int]int{4 << 10: 2 << 20, 16 << 10: 32 << 20, 64 << 10: 512 << 20} {
		if got := windowSize(newFake(page, 0)); got != want {
			t.Errorf("windowSize with pages of %d = %d, want %d", page, got, want)
		}
		if got := windowSize(newFake(page, 8<<20)); got != 8<<20 {
			t.Errorf("windowSize is %d where the kernel says %d", got, 8<<20)
		}
	}
}
