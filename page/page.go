package page

import (
	"fmt"

	system "github.com/foliomem/folio/internal/system/page"
)

// ErrNotSupported is wrapped by the errors of what this system or its kernel does not
// support. They say what is missing, and which version of Linux has it. A missing
// permission is not an ErrNotSupported.
var ErrNotSupported = system.ErrNotSupported

// Kind is a kind of pages.
type Kind int

// The kinds of pages.
const (
	// Base is memory in base pages of Size bytes. It is advised against transparent
	// huge pages (MADV_NOHUGEPAGE), so that it stays in base pages under every policy.
	Base Kind = iota
	// THP is memory that asks for transparent huge pages (MADV_HUGEPAGE). Whether it
	// gets them depends on the system's policy, see Allowed, and on free huge pages.
	THP
	// HugeTLB is memory from a pool of huge pages that the administrator has reserved.
	// Map fails if the pool has too few free pages.
	HugeTLB
)

// String returns "base", "thp" or "hugetlb".
func (k Kind) String() string { return system.Kind(k).String() }

// Advice is a policy for a range of memory.
type Advice int

// The policies of [Range.Advise]. A policy lasts until the addresses are unmapped or get
// the other policy. There is no way back to having neither.
const (
	// AdviseHuge allows transparent huge pages under the THP policies madvise and always
	// (MADV_HUGEPAGE): for page faults now, and for khugepaged later.
	//
	// The Go runtime maps parts of its heap anew as it grows: advice for a part of the
	// heap that was never used is lost when it is first used.
	AdviseHuge Advice = iota
	// AdviseNoHuge forbids transparent huge pages (MADV_NOHUGEPAGE). Existing huge pages
	// stay.
	AdviseNoHuge
)

// String returns "huge" or "nohuge".
func (a Advice) String() string { return system.Advice(a).String() }

// Release is a method of returning memory to the OS. The addresses stay mapped.
type Release int

// The methods of [Range.Release] and [Mapping.Release], named after the advice of
// madvise(2).
const (
	// ReleaseDontNeed releases pages at once (MADV_DONTNEED). RSS falls; the memory reads
	// as zero afterwards, and its next use costs page faults. For HugeTLB it needs
	// Linux 5.18.
	ReleaseDontNeed Release = iota
	// ReleaseFree lets the kernel take pages when it needs memory (MADV_FREE, Linux 4.5).
	// RSS falls only then. Until the memory is written to, it reads as before or as zero,
	// and may change from one to the other at any time. Not supported for HugeTLB.
	ReleaseFree
	// ReleaseCold makes pages the first that the kernel reclaims (MADV_COLD, Linux 5.4).
	// Their contents stay. It has no effect without swap. Not supported for HugeTLB.
	ReleaseCold
	// ReleasePageOut writes pages to swap at once (MADV_PAGEOUT, Linux 5.4). Their
	// contents stay. It has no effect without swap. Not supported for HugeTLB.
	ReleasePageOut
)

// String returns "dontneed", "free", "cold" or "pageout".
func (r Release) String() string { return system.Release(r).String() }

// Size returns the size of a base page in bytes.
func Size() int { return system.Size() }

// HugeSize returns the size of a transparent huge page in bytes: 2 MiB on amd64; 2, 32 or
// 512 MiB on arm64. It returns 0 if the kernel has none, or if /sys is not readable.
func HugeSize() int { return system.HugeSize() }

// Sizes returns the page sizes in bytes that the system has for a kind, ascending: the one
// size of Base; for THP the sizes that the kernel supports (several from Linux 6.8 on); for
// HugeTLB the sizes that have a pool, even an empty one. See [Allowed] for whether the
// policy allows them.
func Sizes(k Kind) ([]int, error) { return system.PageSizes(system.Kind(k)) }

// Allowed returns nil if the system's policy allows pages of kind k in their default size,
// else an error that says what forbids them and how to change it. It does not say whether
// any such pages are free. It reads the policy from /sys and /proc in each call.
func Allowed(k Kind) error { return system.Allowed(system.Kind(k), 0) }

// AllowedSize is Allowed for pages of a size in bytes, one of [Sizes].
func AllowedSize(k Kind, size int) error {
	if size <= 0 {
		return fmt.Errorf("no page has %d bytes", size)
	}
	return system.Allowed(system.Kind(k), size)
}

// Mapped returns the number of open mappings, and their address space in bytes. The Go
// runtime and GOMEMLIMIT do not count it.
func Mapped() (mappings int, bytes uint64) { return system.Mapped() }
