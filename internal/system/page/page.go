package page

import (
	"fmt"
	"os"

	"github.com/foliomem/folio/internal/system/feature"
)

// ErrNotSupported is wrapped by the errors of what this system or its kernel
// cannot do. They say what is missing and since when Linux has it. A lack
// of permission is never an ErrNotSupported.
var ErrNotSupported = feature.ErrNotSupported

// Kind is how a mapping's memory is divided into pages.
type Kind int

const (
	// Base is memory in base pages, see [Size]. Transparent huge pages are
	// forbidden for it (MADV_NOHUGEPAGE), even where the system gives them to
	// everybody, so that it is what it says.
	Base Kind = iota
	// THP is memory that may be in transparent huge pages (MADV_HUGEPAGE).
	// Whether it is depends on policy, see [Allowed], and on whether the kernel
	// finds huge pages: see [Mapping.Residency].
	THP
	// HugeTLB is memory from a pool of huge pages that the administrator
	// reserved. Map fails when the pool has too few; there is nothing in between.
	HugeTLB
)

func (k Kind) String() string {
	switch k {
	case Base:
		return "base"
	case THP:
		return "thp"
	case HugeTLB:
		return "hugetlb"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Commit is when the pages of a mapping get their memory.
type Commit int

const (
	// Lazy leaves it to the first use: each page costs a page fault then.
	Lazy Commit = iota
	// Touch has Map write to every page.
	Touch
	// Populate has Map ask the kernel for all pages in one call
	// (MADV_POPULATE_WRITE, kernel 5.14+), which costs less than Touch and
	// turns a lack of memory into an error. Older kernels: as Touch.
	Populate
	// Ahead populates in pieces of 2 MiB, ahead of use: whoever uses the memory from
	// its start to its end calls [Mapping.PopulateAhead] as it goes.
	Ahead
)

func (c Commit) String() string {
	switch c {
	case Lazy:
		return "lazy"
	case Touch:
		return "touch"
	case Populate:
		return "populate"
	case Ahead:
		return "ahead"
	}
	return fmt.Sprintf("Commit(%d)", int(c))
}

// Release is a way of returning memory to the OS. The addresses stay mapped.
type Release int

const (
	// ReleaseDontNeed releases the pages at once. The memory is zero afterwards, RSS
	// falls at once, and the next use costs a page fault per page.
	ReleaseDontNeed Release = iota
	// ReleaseFree lets the kernel take the pages when it needs memory (kernel 4.5+). RSS
	// falls only then. Until the memory is written to, it reads as what it was or
	// as zero, and may turn from one to the other at any time. Not for HugeTLB.
	ReleaseFree
	// ReleaseCold makes the pages the first to go when the kernel needs memory (kernel
	// 5.4+). Their contents stay; without swap nothing happens. Not for HugeTLB.
	ReleaseCold
	// ReleasePageOut writes the pages to swap at once (kernel 5.4+). Their contents
	// stay; without swap nothing happens. Not for HugeTLB.
	ReleasePageOut
)

func (r Release) String() string {
	switch r {
	case ReleaseDontNeed:
		return "dontneed"
	case ReleaseFree:
		return "free"
	case ReleaseCold:
		return "cold"
	case ReleasePageOut:
		return "pageout"
	}
	return fmt.Sprintf("Release(%d)", int(r))
}

// Advice is a policy for a range of memory.
type Advice int

const (
	// AdviseHuge allows transparent huge pages where the system gives them to those
	// who ask ("madvise"), now on faults and later by khugepaged. It holds for
	// the addresses until they are unmapped; AdviseNoHuge is the opposite, and
	// nothing restores what was before either of them.
	//
	// The Go runtime maps its heap anew as it grows, so advice for a part of the
	// heap that was never used is lost when it is first used.
	AdviseHuge Advice = iota
	// AdviseNoHuge forbids transparent huge pages. What is huge already stays so.
	AdviseNoHuge
)

func (a Advice) String() string {
	switch a {
	case AdviseHuge:
		return "huge"
	case AdviseNoHuge:
		return "nohuge"
	}
	return fmt.Sprintf("Advice(%d)", int(a))
}

// Size returns the size of a base page in bytes.
func Size() int { return os.Getpagesize() }

// HugeSize returns the size in bytes of a transparent huge page that one entry
// of the page table's second level maps: 2 MiB on amd64; 2, 32 or 512 MiB on
// arm64. It is 0 when the kernel has none, or does not show /sys.
func HugeSize() int { return host.hugeSize() }

// WindowSize returns the size in bytes of a window: [HugeSize], or, where that
// is 0, what a huge page would have.
func WindowSize() int { return windowSize(host) }

// PageSizes returns the sizes in bytes that pages of a kind can have here,
// ascending: of Base the one size, of THP the sizes that the kernel offers
// (several from kernel 6.8 on), of HugeTLB those that have a pool, be it empty.
// That a size is offered does not mean that it is [Allowed].
func PageSizes(k Kind) ([]int, error) { return pageSizes(host, k) }

// Allowed says what forbids the system to give this process's memory pages of
// this kind and size, and how to change that; nil if nothing does. size 0 is
// the default of [Options]. It reads the system's policy anew each time: that
// it allows pages does not mean that there are any left.
func Allowed(k Kind, size int) error { return allowed(host, k, size) }

// Mapped returns how many mappings of this package are open, and their bytes
// of address space. The Go runtime counts neither, nor does GOMEMLIMIT.
func Mapped() (mappings int, bytes uint64) {
	return int(live.mappings.Load()), uint64(live.bytes.Load())
}
