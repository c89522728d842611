package page

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/system/sys"
)

// system is all that this package asks of the kernel. Tests put another in its
// place, with other page sizes, or one that fails.
//
// Errors are the kernel's numbers, unless said otherwise. Addresses and lengths
// are multiples of the page's size.
type system interface {
	pageSize() int
	hugeSize() int // 0 if there are no transparent huge pages
	have(feature.Feature) error

	// mmap maps private, anonymous, zeroed memory; flags are those for hugetlb.
	mmap(length uintptr, flags int) (unsafe.Pointer, error)
	munmap(addr, length uintptr) error
	madvise(addr, length uintptr, advice int) error
	setName(addr, length uintptr, name string) error

	// pagemap opens the page table of this process.
	pagemap() (pagemap, error)
	// readMemory copies memory, and fails with EFAULT where there is none.
	readMemory(dst []byte, addr uintptr) (int, error)

	// path is where a file of /proc or /sys is, files reads those that package
	// procmem knows.
	path(name string) string
	files() procmem.FS
	limit(resource int) (uint64, error) // RLIMIT_: the soft one, ^0 if there is none
	thpDisabled() (int, error)          // as [sys.THPDisabled]
}

type pagemap interface {
	Scan(start, end uintptr, into []sys.Region) (n int, next uintptr, err error)
	Read(start uintptr, pageSize int, into []sys.Entry) (int, error)
	Close() error
}

// host is the running system.
var host system = new(linux)

// linux is the kernel that runs.
type linux struct{ huge atomic.Int64 } // 1 more than hugeSize; 0 if that was not read yet

func (*linux) pageSize() int                { return os.Getpagesize() }
func (*linux) have(f feature.Feature) error { return feature.Have(f) }
func (*linux) path(name string) string      { return "/" + name }
func (*linux) files() procmem.FS            { return procmem.New("") }

const thpDir = "sys/kernel/mm/transparent_hugepage"

// hugeSize keeps what it read: the size does not change while a kernel runs.
// A container may mount /sys later, so that it is absent is not kept.
func (l *linux) hugeSize() int {
	if n := l.huge.Load(); n > 0 {
		return int(n - 1)
	}
	text, err := readText(l, thpDir+"/hpage_pmd_size")
	if err != nil {
		return 0
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < os.Getpagesize() || n&(n-1) != 0 {
		return 0
	}
	l.huge.Store(int64(n) + 1)
	return n
}

func (*linux) mmap(length uintptr, flags int) (unsafe.Pointer, error) { return sys.Mmap(length, flags) }
func (*linux) munmap(addr, length uintptr) error                      { return sys.Munmap(addr, length) }
func (*linux) madvise(addr, length uintptr, advice int) error {
	return sys.Madvise(addr, length, advice)
}
func (*linux) setName(addr, length uintptr, name string) error {
	return sys.SetName(addr, length, name)
}
func (*linux) readMemory(dst []byte, addr uintptr) (int, error) { return sys.ReadMemory(dst, addr) }
func (*linux) thpDisabled() (int, error)                        { return sys.THPDisabled() }

func (*linux) pagemap() (pagemap, error) {
	p, err := sys.OpenPagemap(0)
	if err != nil {
		return nil, err
	}
	return p, nil
}

func (*linux) limit(resource int) (uint64, error) {
	var r unix.Rlimit
	err := unix.Getrlimit(resource, &r)
	return r.Cur, err
}

// readText reads a small file of /proc or /sys without the space around it.
func readText(s system, name string) (string, error) {
	data, err := os.ReadFile(s.path(name))
	return strings.TrimSpace(string(data)), err
}

func readNumber(s system, name string) (uint64, error) {
	text, err := readText(s, name)
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(text, 10, 64)
}

// windowSize is the span of one entry in the second level of the page table,
// whose tables are one page of 8-byte entries each.
func windowSize(s system) int {
	if n := s.hugeSize(); n > 0 {
		return n
	}
	return s.pageSize() * (s.pageSize() / 8)
}
