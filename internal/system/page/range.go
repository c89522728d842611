package page

import (
	"fmt"
	"unsafe"

	"github.com/foliomem/folio/internal/base/unit"
)

// Range is a range of addresses [Start, End). It does not keep memory alive:
// whoever holds one of Go heap memory must hold the memory as well.
//
// Its methods work on any memory of the process: a slab of the Go heap,
// somebody's mmap, a [Mapping]. They allocate little or nothing, and may be
// called by many goroutines at once.
type Range struct{ Start, End uintptr }

// RangeOf returns the addresses of the elements of s.
func RangeOf[E any](s []E) Range {
	var e E
	return OfPointer(unsafe.Pointer(unsafe.SliceData(s)), uintptr(len(s))*unsafe.Sizeof(e)) // Safety: only the address is kept.
}

// OfPointer returns the range of n bytes from p.
func OfPointer(p unsafe.Pointer, n uintptr) Range {
	return Range{uintptr(p), uintptr(p) + n}
}

// Len returns the number of bytes in r, 0 if r is empty or inverted.
func (r Range) Len() uintptr {
	if r.End <= r.Start {
		return 0
	}
	return r.End - r.Start
}

// Inward returns what is left of r when both ends move inward to a multiple of
// align, a power of two: the whole pages within r. It may be empty.
func (r Range) Inward(align int) Range {
	a := alignment(align)
	end := r.End &^ (a - 1)
	start := (r.Start + a - 1) &^ (a - 1)
	if start < r.Start || start > end { // the first is an overflow
		return Range{end, end}
	}
	return Range{start, end}
}

// Outward returns r with both ends moved outward to a multiple of align, a power
// of two: the pages that r is part of. An empty range stays empty. At the
// end of the address space, End stays below a multiple.
func (r Range) Outward(align int) Range {
	a := alignment(align)
	start := r.Start &^ (a - 1)
	if r.Len() == 0 {
		return Range{start, start}
	}
	end := (r.End + a - 1) &^ (a - 1)
	if end < r.End {
		end = ^uintptr(0)
	}
	return Range{start, end}
}

// String returns the addresses as /proc/PID/maps writes them.
func (r Range) String() string { return fmt.Sprintf("%x-%x", r.Start, r.End) }

func alignment(align int) uintptr {
	if align <= 0 || align&(align-1) != 0 {
		panic(fmt.Sprintf("page: alignment %d is not a power of two", align))
	}
	return uintptr(align)
}

// Advise sets the policy of all base pages that r is part of. A huge page needs its whole
// window advised: for [AdviseHuge], round r outward to [HugeSize] if the rest of the window
// may also be advised, as in the Go heap. Advise does not guarantee huge pages: see
// [Allowed] and [Range.Residency].
//
// A part of r that is not mapped is an error, but the rest is advised.
func (r Range) Advise(a Advice) error { return r.failed("advise", adviseRange(host, r, a)) }

// Populate gives memory to all base pages that r is part of, in one call and
// without changing their contents, so that using them faults no more: in huge
// pages where the policy allows. It also says when there is not enough memory,
// except for the limit of a cgroup, which ends the process. Needs kernel 5.14.
func (r Range) Populate() error { return r.failed("populate", populateRange(host, r, false)) }

// Release returns memory to the OS, and returns how many bytes. It takes only the
// whole windows in r, since releasing a part of a huge page splits it, and the other
// part is then mapped by base pages: so it may be less than r, even 0. See [ReleaseOptions.Split].
//
// ReleaseDontNeed and ReleaseFree destroy what the memory holds. Never use them on memory that
// other goroutines use, nor on memory of the Go heap: if it can hold pointers, the GC
// may free what is in use, even if the memory was cleared before.
func (r Range) Release(how Release, o *ReleaseOptions) (int, error) {
	align := WindowSize()
	if o != nil && o.Split {
		align = Size()
	}
	whole := r.Inward(align)
	if err := releaseRange(host, whole, how, false); err != nil {
		return 0, r.failed("release", err)
	}
	return int(whole.Len()), nil
}

// Collapse makes huge pages of the whole windows in r (MADV_COLLAPSE, kernel
// 6.1+), at once and whatever the system's THP policy, with no flag left
// behind: what is released later stays released. Other goroutines may use the
// memory; those that do wait for up to a few milliseconds. Windows are taken
// one by one, so one that fails does not keep the others from it.
//
// A hole in a window is filled: so windows that are less than half resident are
// left alone, see [CollapseOptions.MinDensity].
//
// The error is nil when windows were refused: see [Collapsed.Refused].
func (r Range) Collapse(o *CollapseOptions) (Collapsed, error) {
	c, err := collapseRange(host, r, o)
	return c, r.failed("collapse", err)
}

// Residency says what the kernel has in memory for r, and faults nothing in. A
// GiB takes it a tenth of a millisecond if it is in huge pages, a few milliseconds
// in base pages, and some ten times that before kernel 6.7.
func (r Range) Residency(o *ResidencyOptions) (Residency, error) {
	res, err := residencyRange(host, r, o)
	return res, r.failed("residency", err)
}

func (r Range) failed(op string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %v (%s): %w", op, r, unit.Exact(uint64(r.Len())), err)
}

// ReleaseOptions are the options of a release. nil is the default.
type ReleaseOptions struct {
	// Split releases all whole base pages, and so splits the huge pages at the
	// ends of the range. A huge page that was split by one base page costs as
	// much memory as before until the kernel, short of memory, frees its parts: RSS
	// falls by more than the system gets. Default: whole windows only.
	Split bool
}

// CollapseOptions are the options of a collapse. nil is the default.
type CollapseOptions struct {
	// MinDensity is the share of a window's base pages that must be resident
	// for it to be collapsed, from 0 to 1. Default: 0.5.
	MinDensity float64
	// AnyDensity collapses windows of any density, without a look at residency.
	AnyDensity bool
	// Stop is called before each window that would be collapsed, with what was
	// done so far. When it returns true, Collapse returns that: for a budget of
	// time, a context, or to give up at the first that is refused. A window takes
	// about a millisecond. Default: never.
	Stop func(Collapsed) bool
}

// Collapsed counts what became of the windows of a collapse.
type Collapsed struct {
	Collapsed int // the kernel says they are huge pages now
	Already   int // were huge before; known only if residency is looked at
	Empty     int // nothing in them was resident
	Sparse    int // less dense than MinDensity
	Refused   int // the kernel would not
	// Reason is why the last one was refused; nil if none was.
	Reason error
}
