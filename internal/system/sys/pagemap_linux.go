package sys

import (
	"os"
	"runtime"
	"strconv"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Category says what a page is: the bits of PAGEMAP_SCAN, see
// Documentation/admin-guide/mm/pagemap.rst and linux/fs.h.
type Category uint64

const (
	File     Category = 1 << 2 // of a file, or shared: only of ScanFiles
	Present  Category = 1 << 3
	Swapped  Category = 1 << 4
	ZeroPage Category = 1 << 5 // the kernel's page of zeros
	Huge     Category = 1 << 6 // mapped by one entry for a huge page
)

// Region is a run of pages of one category: struct page_region.
type Region struct {
	Start, End uint64
	Category   Category
}

// scanArg is struct pm_scan_arg.
type scanArg struct {
	size, flags           uint64
	start, end, walkEnd   uint64
	vec, vecLen, maxPages uint64
	inverted, mask, anyOf uint64
	categories            uint64
}

// scanRequest is _IOWR('f', 16, struct pm_scan_arg). MIPS, PowerPC and SPARC
// number the directions of an ioctl differently; Go's Linux ports to them get
// ENOTTY or the like, and take the other route.
const scanRequest = 3<<30 | uint(unsafe.Sizeof(scanArg{}))<<16 | 'f'<<8 | 16

// pieceBytes and pieceLength bound one call of the ioctl, during which the kernel holds the
// lock of the process's mappings: by the pages that it finds, and by the addresses that it
// goes through, some of which have page tables and no pages.
const (
	pieceBytes  = 64 << 20
	pieceLength = 1 << 30
)

// A lock that is taken again at once is never free for a thread that waits to change
// mappings: the kernel lets it in only after 4 to 20 ms. So after heldMost in the ioctl there
// is a pause, in which such a thread wakes up and goes on.
const (
	heldMost = time.Millisecond
	pause    = 200 * time.Microsecond
)

// Pagemap is the page table of a process: an open /proc/PID/pagemap.
type Pagemap struct {
	fd   int
	arg  *scanArg      // on the heap, where it does not move while the kernel uses it
	held time.Duration // spent in the ioctl since the last pause
	rest func()        // pauses
}

// sleep pauses. The Go runtime would make a millisecond of it.
func sleep() {
	ts := unix.NsecToTimespec(int64(pause))
	_ = unix.Nanosleep(&ts, nil) // a signal ends it early
}

// OpenPagemap opens the page table of a process; pid 0 is the calling one.
func OpenPagemap(pid int) (*Pagemap, error) {
	path := "/proc/self/pagemap"
	if pid != 0 {
		path = "/proc/" + strconv.Itoa(pid) + "/pagemap"
	}
	return OpenPagemapFile(path)
}

// OpenPagemapFile opens the page table of a process by the path of its file.
func OpenPagemapFile(path string) (*Pagemap, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return &Pagemap{fd: fd, arg: new(scanArg), rest: sleep}, nil
}

// Close closes the file.
func (p *Pagemap) Close() error { return unix.Close(p.fd) }

// Scan lists the pages of [start, end) that are present or swapped, up to as
// many regions as into holds, and returns how many it wrote and where to go on:
// end when it is done. It goes in pieces, so that a process that maps memory does not wait
// for long: neighbors can be of one category. Holes and what is not mapped are passed over.
// Needs kernel 6.7 (ENOTTY before). into must be on the heap, or otherwise not move.
func (p *Pagemap) Scan(start, end uintptr, into []Region) (n int, next uintptr, err error) {
	return p.scan(start, end, into, Present|Swapped|ZeroPage|Huge) // others cost the kernel more
}

// ScanFiles is Scan, which says of each page whether it is of a file, too. That takes the
// kernel several times as long.
func (p *Pagemap) ScanFiles(start, end uintptr, into []Region) (n int, next uintptr, err error) {
	return p.scan(start, end, into, Present|Swapped|ZeroPage|Huge|File)
}

func (p *Pagemap) scan(start, end uintptr, into []Region, categories Category) (n int, next uintptr, err error) {
	if end-start > pieceLength && start <= end {
		end = start + pieceLength
	}
	*p.arg = scanArg{
		size:  uint64(unsafe.Sizeof(scanArg{})),
		start: uint64(start), end: uint64(end),
		vec:    uint64(uintptr(unsafe.Pointer(unsafe.SliceData(into)))),
		vecLen: uint64(len(into)), maxPages: uint64(pieceBytes / os.Getpagesize()), // Safety: the kernel writes there during the call only; KeepAlive below.
		anyOf:      uint64(Present | Swapped),
		categories: uint64(categories),
	}
	begin := time.Now()
	defer func() {
		if p.held += time.Since(begin); p.held >= heldMost {
			p.held = 0
			p.rest()
		}
	}()
	for {
		r, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(p.fd), uintptr(scanRequest),
			uintptr(unsafe.Pointer(p.arg))) // Safety: p.arg is alive, its size is in the request.
		runtime.KeepAlive(into)
		switch errno {
		case 0:
			return int(r), uintptr(p.arg.walkEnd), nil
		case unix.EINTR:
		default:
			return 0, start, errno
		}
	}
}

// Entry is what /proc/PID/pagemap has for one page. The kernel hides the number
// of the frame from processes without CAP_SYS_ADMIN, and there is no bit for
// huge.
type Entry uint64

func (e Entry) Present() bool { return e>>63&1 != 0 }
func (e Entry) Swapped() bool { return e>>62&1 != 0 }

// File reports whether it is a page of a file or shared anonymous memory; some
// kernels say so of the huge page of zeros too.
func (e Entry) File() bool { return e>>61&1 != 0 }

// Exclusive reports whether the page is mapped in one place only. It
// never is for the page of zeros.
func (e Entry) Exclusive() bool { return e>>56&1 != 0 }

// Read reads the entries of len(into) pages of pageSize bytes from start on. It
// returns fewer at the end of the address space.
func (p *Pagemap) Read(start uintptr, pageSize int, into []Entry) (int, error) {
	if len(into) == 0 {
		return 0, nil
	}
	const size = int(unsafe.Sizeof(Entry(0)))
	buf := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(into))), len(into)*size) // Safety: the same memory, alive as into is.
	for {
		n, err := unix.Pread(p.fd, buf, int64(start)/int64(pageSize)*int64(size))
		if err == unix.EINTR {
			continue
		}
		return max(n, 0) / size, err
	}
}
