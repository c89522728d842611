package page

// ResidencyOptions are the options of [Range.Residency]. nil is the default.
type ResidencyOptions struct {
	// Windows asks for the windows, not only for the sums. Default: sums only.
	Windows bool
	// Touched asks for Touched, by reading all that is resident: about 0.1 s per GiB.
	// The kernel does the reading (process_vm_readv), so that it is not a data race and
	// faults in nothing new, unless the memory is released at the same moment: that
	// may then leave a zero page. Default: not.
	Touched bool
	// Runs, if not nil, is called with the base pages that are resident: neighbors in as
	// few ranges as they are found in, ascending. It takes no memory, as Windows does.
	// Default: none.
	Runs func(Range)
	// Window is the size of the windows in bytes, a power of two of at least Size.
	// Default: WindowSize.
	Window int
}

// Residency is what the kernel has in memory for a range, in bytes. The range
// counts with all base pages that it is part of.
type Residency struct {
	Resident uint64 // in memory of its own: what RSS counts, and hugetlb pages
	// Huge is the part of Resident that is mapped by one entry for a whole huge
	// page, which is what makes address translation cheap. Larger folios that
	// base page entries map (THP of other sizes, kernel 6.8+) are not seen.
	Huge uint64
	// HugeUnknown is how much more may be huge. It is 0 from kernel 6.7 on
	// (PAGEMAP_SCAN). Older kernels say only how much of a whole mapping is huge.
	HugeUnknown uint64
	// Zero is what was read but never written: it is mapped to the kernel's page
	// of zeros, costs no memory and is not part of Resident. Kernels before 6.7
	// do not tell it from memory shared with a forked child, which then counts as
	// Zero; those from 6.7 up to 6.15 take the huge page of zeros for memory of
	// one's own.
	Zero    uint64
	Swapped uint64 // in swap or in zswap
	// Touched is the part of Resident in base pages that are not all zero; only
	// if asked for. The kernel does not know which parts of a huge page a program
	// used: a page that holds something was certainly written, and one that is
	// all zero could be released with no loss. So the bloat is at most Resident
	// - Touched.
	Touched uint64
	// Windows are those that anything is resident, zero or swapped in, ascending,
	// if asked for.
	Windows []Window
}

// Coverage returns Huge / Resident, 0 if nothing is resident.
func (r Residency) Coverage() float64 {
	if r.Resident == 0 {
		return 0
	}
	return float64(r.Huge) / float64(r.Resident)
}

// Window is the part of a range that is in one window. The fields are as in
// [Residency].
type Window struct {
	// Range is the window, or at the ends of the range the part of it that is in
	// the range.
	Range    Range
	Resident uint64
	Huge     uint64
	// HugeUnknown is set when the kernel does not say whether it is huge (before
	// kernel 6.7); Huge is 0 then.
	HugeUnknown bool
	Zero        uint64
	Swapped     uint64
	Touched     uint64
}

// Density returns which share of the window's base pages, or of its part in the
// range, is resident.
func (w Window) Density() float64 {
	if w.Range.Len() == 0 {
		return 0
	}
	return float64(w.Resident) / float64(w.Range.Len())
}
