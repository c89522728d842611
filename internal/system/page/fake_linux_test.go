package page

import (
	"os"
	"path/filepath"
	"sync"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/sys"
)

// fake is a system with other page sizes, on real memory. It refuses what a
// kernel with such pages refuses, and fails on demand.
type fake struct {
	system
	page, huge int
	without    []feature.Feature
	root       string // of /proc and /sys; "" is the real one
	limits     map[int]uint64
	disabled   int
	// fail is asked before each call with its name and how often it was made
	// before; nil lets it pass.
	fail func(call string, advice, nth int) error

	mu     sync.Mutex
	calls  map[string]int
	advice []adviceCall
}

type adviceCall struct {
	r      Range
	advice int
}

func newFake(page, huge int) *fake {
	return &fake{system: host, page: page, huge: huge, calls: map[string]int{}}
}

func (f *fake) failing(call string, advice int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	nth := f.calls[call]
	f.calls[call]++
	if f.fail == nil {
		return nil
	}
	return f.fail(call, advice, nth)
}

func (f *fake) pageSize() int { return f.page }
func (f *fake) hugeSize() int { return f.huge }

func (f *fake) have(want feature.Feature) error {
	for _, w := range f.without {
		if w == want {
			return &feature.Error{Feature: w}
		}
	}
	return f.system.have(want)
}

// mmap maps at an address that is a multiple of the page, but never of a huge page.
func (f *fake) mmap(length uintptr, flags int) (unsafe.Pointer, error) {
	if err := f.failing("mmap", 0); err != nil {
		return nil, err
	}
	if flags != 0 {
		return nil, unix.ENOMEM // no pools
	}
	length = roundUpPtr(length, f.page)
	extra := uintptr(3 * f.page)
	p, err := f.system.mmap(length+extra, 0)
	if err != nil {
		return nil, err
	}
	all := OfPointer(p, length+extra)
	start := roundUpPtr(all.Start, f.page)
	if f.huge > 0 && start&uintptr(f.huge-1) == 0 {
		start += uintptr(f.page)
	}
	for _, r := range []Range{{all.Start, start}, {start + length, all.End}} {
		if r.Len() > 0 {
			if err := f.system.munmap(r.Start, r.Len()); err != nil {
				return nil, err
			}
		}
	}
	return unsafe.Add(p, start-all.Start), nil // Safety: in what was mapped.
}

func (f *fake) munmap(addr, length uintptr) error {
	if err := f.failing("munmap", 0); err != nil {
		return err
	}
	if addr%uintptr(f.page) != 0 || length%uintptr(f.page) != 0 || length == 0 {
		return unix.EINVAL
	}
	return f.system.munmap(addr, length)
}

func (f *fake) madvise(addr, length uintptr, advice int) error {
	f.mu.Lock()
	f.advice = append(f.advice, adviceCall{Range{addr, addr + length}, advice})
	f.mu.Unlock()
	if err := f.failing("madvise", advice); err != nil {
		return err
	}
	if addr%uintptr(f.page) != 0 || length%uintptr(f.page) != 0 {
		return unix.EINVAL
	}
	switch advice {
	case unix.MADV_COLLAPSE:
		if addr%uintptr(f.huge) != 0 || length%uintptr(f.huge) != 0 {
			return unix.EINVAL
		}
		return nil
	case unix.MADV_HUGEPAGE: // the real ones have another size
		return f.system.madvise(addr, length, unix.MADV_NOHUGEPAGE)
	}
	return f.system.madvise(addr, length, advice)
}

// advised returns the ranges that were advised so, and forgets them.
func (f *fake) advised(advice int) (ranges []Range) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.advice {
		if c.advice == advice {
			ranges = append(ranges, c.r)
		}
	}
	f.advice = nil
	return ranges
}

func (f *fake) path(name string) string {
	if f.root == "" {
		return f.system.path(name)
	}
	return filepath.Join(f.root, name)
}

func (f *fake) files() procmem.FS { return procmem.New(f.root) }

func (f *fake) limit(resource int) (uint64, error) {
	if n, ok := f.limits[resource]; ok {
		return n, nil
	}
	return noLimit, nil
}

func (f *fake) thpDisabled() (int, error) { return f.disabled, nil }

func (f *fake) pagemap() (pagemap, error) {
	p, err := f.system.pagemap()
	return fakePagemap{p, f}, err
}

// fakePagemap has an entry for each of the large pages: that of its first real page
// that is present.
type fakePagemap struct {
	pagemap
	f *fake
}

func (p fakePagemap) Scan(start, end uintptr, into []sys.Region) (int, uintptr, error) {
	if start%uintptr(p.f.page) != 0 {
		return 0, start, unix.EINVAL
	}
	return p.pagemap.Scan(start, end, into)
}

func (p fakePagemap) Read(start uintptr, pageSize int, into []sys.Entry) (int, error) {
	if pageSize != p.f.page {
		return 0, unix.EINVAL
	}
	real := make([]sys.Entry, len(into)*pageSize/os.Getpagesize())
	n, err := p.pagemap.Read(start, os.Getpagesize(), real)
	each := pageSize / os.Getpagesize()
	for i := range n / each {
		into[i] = real[i*each]
		for _, e := range real[i*each:][:each] {
			if e.Present() { // touching one byte of a large page makes all of it present
				into[i] = e
				break
			}
		}
	}
	return n / each, err
}

func roundUpPtr(n uintptr, align int) uintptr {
	return (n + uintptr(align) - 1) &^ (uintptr(align) - 1)
}

// writeFiles makes a root with files of /proc and /sys.
func writeFiles(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// machines are systems with the page sizes of amd64 and arm64.
func machines(t *testing.T, test func(t *testing.T, f *fake)) {
	for _, m := range []struct {
		name       string
		page, huge int
	}{
		{"4KiB", 4 << 10, 2 << 20},
		{"16KiB", 16 << 10, 32 << 20},
		{"64KiB", 64 << 10, 512 << 20},
		{"64KiB without THP", 64 << 10, 0},
	} {
		t.Run(m.name, func(t *testing.T) {
			if m.page < os.Getpagesize() {
				t.Skip("the real pages are larger") // nothing is lost: the larger are tested
			}
			f := newFake(m.page, m.huge)
			files := map[string]string{
				"sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
			}
			if m.huge > 0 {
				files[thpDir+"/enabled"] = "always [madvise] never\n"
			}
			f.root = writeFiles(t, files)
			test(t, f)
		})
	}
}
