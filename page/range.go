package page

import (
	"unsafe"

	system "github.com/foliomem/folio/internal/system/page"
)

// Range is the range of addresses [Start, End). It does not keep memory alive: whoever
// holds a Range of the Go heap must also hold the memory (runtime.KeepAlive).
//
// Its methods work on any memory of the process: a slice of the Go heap, memory that
// other code has mapped, a [Mapping]. They may be called by many goroutines at once.
type Range struct{ Start, End uintptr }

// RangeOf returns the addresses of the elements of s.
func RangeOf[E any](s []E) Range {
	var e E
	// Safety: only the address is kept.
	return Range(system.OfPointer(unsafe.Pointer(unsafe.SliceData(s)), uintptr(len(s))*unsafe.Sizeof(e)))
}

// Len returns the number of bytes in r, 0 if r is empty or inverted.
func (r Range) Len() uintptr { return system.Range(r).Len() }

// Inward returns r with both ends moved inward to a multiple of align: the whole pages
// within r. It may be empty. Inward panics if align is not a power of two.
func (r Range) Inward(align int) Range { return Range(system.Range(r).Inward(align)) }

// Outward returns r with both ends moved outward to a multiple of align: the pages that r
// is part of. An empty range stays empty. At the end of the address space, End is the
// highest address. Outward panics if align is not a power of two.
func (r Range) Outward(align int) Range { return Range(system.Range(r).Outward(align)) }

// String returns the addresses as in /proc/PID/maps.
func (r Range) String() string { return system.Range(r).String() }

// Advise sets the policy of all base pages that r is part of. A huge page needs its whole
// window advised: for [AdviseHuge], round r outward to [HugeSize] if the rest of the window
// may also be advised, as in the Go heap. See [Allowed] and [Range.Residency] for whether
// the kernel follows the advice.
//
// If a part of r is not mapped, Advise returns an error, but advises the rest.
func (r Range) Advise(a Advice) error { return system.Range(r).Advise(system.Advice(a)) }

// Populate allocates all base pages that r is part of in one call, without changing their
// contents (MADV_POPULATE_WRITE, Linux 5.14): on huge pages where the policy allows them.
// If memory is short it returns an error, but if the limit of a cgroup is reached, the
// kernel kills the process.
func (r Range) Populate() error { return system.Range(r).Populate() }

// ReleaseOptions are the options of [Range.Release]. nil is the default.
type ReleaseOptions struct {
	// Split releases all whole base pages, which splits the huge pages at the ends of
	// the range. A split huge page stays allocated until the kernel is short of memory:
	// RSS falls by more than the system gets. Default: whole windows only.
	Split bool
}

// Release returns the whole windows within r to the OS, and returns how many bytes that
// is: less than r has, or even 0. A part of a window is left alone because releasing it
// would split a huge page, and leave the other part on base pages; see
// [ReleaseOptions.Split].
//
// [ReleaseDontNeed] and [ReleaseFree] destroy the contents. Never use them on memory that
// other goroutines use. On the Go heap, use them only for memory without pointers: if it
// can hold pointers, the GC may free what is in use, even if the memory was cleared before.
func (r Range) Release(how Release, o *ReleaseOptions) (int, error) {
	return system.Range(r).Release(system.Release(how), (*system.ReleaseOptions)(o))
}

// CollapseOptions are the options of [Range.Collapse]. nil is the default.
type CollapseOptions struct {
	// MinDensity is the share of a window's base pages that must be resident, from 0
	// to 1. Sparser windows stay as they are. Default: 0.5: the memory of a window
	// at most doubles. Package goheap, which chooses among all windows of the heap, has
	// the default 0.8: the memory of a window grows by a quarter at most.
	MinDensity float64
	// AnyDensity collapses all windows, even those of which nothing is resident, and
	// does not read residency: memory may grow to 512 times what was resident.
	// MinDensity is then ignored.
	AnyDensity bool
	// Stop is called before each window that is about to be collapsed, with the result so
	// far. If it returns true, Collapse returns that result: for a context, for a bound on
	// time, or to give up at the first window that is refused. Default: never.
	Stop func(Collapsed) bool
}

func (o *CollapseOptions) system() *system.CollapseOptions {
	if o == nil {
		return nil
	}
	own := &system.CollapseOptions{MinDensity: o.MinDensity, AnyDensity: o.AnyDensity}
	if o.AnyDensity {
		own.MinDensity = 0
	}
	if o.Stop != nil {
		own.Stop = func(c system.Collapsed) bool { return o.Stop(Collapsed(c)) }
	}
	return own
}

// Collapsed is the result of a collapse: numbers of windows.
type Collapsed struct {
	Collapsed int // put on huge pages now
	Already   int // on huge pages before; 0 with AnyDensity
	Empty     int // nothing resident
	Sparse    int // less dense than MinDensity
	Refused   int // the kernel returned an error
	// Reason is the error of the last window that was refused; nil if none was.
	Reason error
}

// Collapse puts the whole windows within r on huge pages (MADV_COLLAPSE, Linux 6.1), at
// once, whatever the system's THP policy. It changes no policy: what is released later
// is not filled again by khugepaged. It takes about a millisecond for each window of
// 2 MiB, and up to 10 ms in virtual machines whose host allocates memory at first touch;
// goroutines that use the window meanwhile wait.
//
// A huge page also fills what was not resident in its window. Collapse therefore leaves
// windows alone that are less than half resident, see [CollapseOptions.MinDensity].
//
// Windows are collapsed one by one, and one that the kernel refuses is not an error: see
// [Collapsed.Refused].
func (r Range) Collapse(o *CollapseOptions) (Collapsed, error) {
	c, err := system.Range(r).Collapse(o.system())
	return Collapsed(c), err
}

// Residency returns what the kernel has in memory for the base pages that r is part of. It
// does not fault anything in. It takes about 0.1 ms for each GiB on huge pages, and a few
// milliseconds on base pages; before Linux 6.7 ten times that.
func (r Range) Residency() (Residency, error) { return residency(system.Range(r).Residency(nil)) }

// Windows returns what the kernel has in memory for each window that r is part of,
// ascending. Windows with nothing resident, zero or swapped are left out.
func (r Range) Windows() ([]Window, error) {
	return windows(system.Range(r).Residency(&system.ResidencyOptions{Windows: true}))
}
