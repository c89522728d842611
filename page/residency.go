package page

import system "github.com/foliomem/folio/internal/system/page"

// Residency is what the kernel has in memory for a range, in bytes.
type Residency struct {
	// Resident is what counts in RSS, and hugetlb pages, which do not.
	Resident uint64
	// Huge is the part of Resident that is mapped by one entry of the page table for each
	// huge page. Large folios that base page entries map (other THP sizes, Linux 6.8) are
	// not part of it.
	Huge uint64
	// HugeUnknown is what may be huge in addition to Huge. It is 0 from Linux 6.7 on.
	// Older kernels only tell how much of a whole mapping is huge.
	HugeUnknown uint64
	// Zero is what was read but never written: it maps the kernel's page of zeros, takes
	// no memory and is not part of Resident. Before Linux 6.7 it includes memory that is
	// shared with a forked child; from 6.7 to 6.15, huge pages of zeros count as Resident.
	Zero uint64
	// Swapped is in swap or zswap.
	Swapped uint64
}

// Coverage returns Huge / Resident, 0 if nothing is resident.
func (r Residency) Coverage() float64 {
	if r.Resident == 0 {
		return 0
	}
	return float64(r.Huge) / float64(r.Resident)
}

// Window is what the kernel has in memory for one window.
type Window struct {
	// Range is the window, or the part of it that is in the range that was asked for.
	Range Range
	Residency
}

// Density returns Resident / Range.Len(), 0 if the range is empty.
func (w Window) Density() float64 {
	if w.Range.Len() == 0 {
		return 0
	}
	return float64(w.Resident) / float64(w.Range.Len())
}

func residency(r system.Residency, err error) (Residency, error) {
	return Residency{Resident: r.Resident, Huge: r.Huge, HugeUnknown: r.HugeUnknown, Zero: r.Zero, Swapped: r.Swapped}, err
}

func windows(r system.Residency, err error) ([]Window, error) {
	if err != nil || len(r.Windows) == 0 {
		return nil, err
	}
	out := make([]Window, len(r.Windows))
	for i, w := range r.Windows {
		out[i] = Window{Range: Range(w.Range), Residency: Residency{Resident: w.Resident, Huge: w.Huge, Zero: w.Zero, Swapped: w.Swapped}}
		if w.HugeUnknown {
			out[i].HugeUnknown = w.Resident
		}
	}
	return out, nil
}
