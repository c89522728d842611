package inspect

import (
	"errors"
	"fmt"
	"sort"

	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/system/feature"
	"github.com/foliomem/folio/internal/system/page"
)

// MinDensity is the density from which on a window is worth a huge page by default,
// as in package goheap, and LeastDensity the least that anybody may ask for: below
// it memory grows by more than it was.
const (
	MinDensity   = advice.DenseWindow
	LeastDensity = advice.LeastDenseWindow
)

// Scan returns the whole windows in ranges in which something is resident, and how
// many bytes are resident in the parts that are not whole windows, where no huge
// page can be.
func Scan(p *page.Process, ranges []page.Range) (windows []page.Window, cut uint64, err error) {
	size := page.HugeSize()
	if size == 0 {
		return nil, 0, fmt.Errorf("%w: no transparent huge pages in this kernel", page.ErrNotSupported)
	}
	if len(ranges) == 0 {
		return nil, 0, nil
	}
	scan := ranges
	if feature.Have(feature.PagemapScan) != nil {
		// Each look reads all of smaps: let one do.
		scan = []page.Range{{Start: ranges[0].Start, End: ranges[len(ranges)-1].End}}
	}
	for _, r := range scan {
		res, err := p.Residency(r, &page.ResidencyOptions{Windows: true})
		if err != nil {
			return nil, 0, err
		}
		windows = append(windows, res.Windows...)
	}
	kept := windows[:0]
	next := 0
	for _, w := range windows {
		for next < len(ranges) && ranges[next].End <= w.Range.Start {
			next++
		}
		if next == len(ranges) {
			break
		}
		r := ranges[next]
		switch {
		case w.Range.Len() == uintptr(size) && r.Start <= w.Range.Start && w.Range.End <= r.End:
			if w.Resident+w.Swapped > 0 {
				kept = append(kept, w)
			}
		case r.Start < w.Range.End:
			cut += w.Resident
		}
	}
	return kept, cut, nil
}

// Bins is how many steps of density a histogram has.
const Bins = 10

// Windows sums up windows. Sizes are bytes.
type Windows struct {
	Size  uint64 // of one
	Count int    // in which something is resident

	Huge        int
	HugeUnknown int // of Dense: before kernel 6.7 nobody can tell which are huge
	Dense       int // not huge, and dense enough
	Sparse      int // not huge, and not dense enough
	OptedOut    int // dense enough, but the program advised against huge pages there

	// Density counts those that are not huge by the share that is resident: the
	// first bin is up to 10%, the last from 90% to all of it.
	Density [Bins]int

	Resident uint64 // with Cut
	HugeSize uint64 // on huge pages
	Cut      uint64 // resident, but in no whole window
	Gain     uint64 // what the dense windows are when they are huge pages
	Fill     uint64 // of Gain: what is not resident now, by which memory grows
}

// Summarize sums up windows. noHuge are the ranges that the program advised against
// huge pages.
func Summarize(windows []page.Window, cut uint64, minDensity float64, noHuge []page.Range) Windows {
	out := Windows{Size: uint64(page.HugeSize()), Cut: cut, Resident: cut}
	for _, w := range windows {
		if w.Resident == 0 {
			continue // swapped out
		}
		size := uint64(w.Range.Len())
		out.Count++
		out.Resident += w.Resident
		out.HugeSize += w.Huge
		if w.Huge == size {
			out.Huge++
			continue
		}
		out.Density[bin(w.Density())]++
		switch {
		case w.Density() < minDensity:
			out.Sparse++
		case Overlap(noHuge, w.Range):
			out.OptedOut++
		default:
			out.Dense++
			out.Gain += size - w.Huge
			out.Fill += size - w.Resident
			if w.HugeUnknown {
				out.HugeUnknown++
			}
		}
	}
	return out
}

// bin returns the place of a density in a histogram.
func bin(density float64) int { return min(max(int(density*Bins), 0), Bins-1) }

// Coverage returns the share of what is resident that is on huge pages; 0 if nothing
// is resident.
func (w Windows) Coverage() float64 {
	if w.Resident == 0 {
		return 0
	}
	return float64(w.HugeSize) / float64(w.Resident)
}

// Overlap reports whether r and one of ranges, which ascend, have a byte in common.
func Overlap(ranges []page.Range, r page.Range) bool {
	i := sort.Search(len(ranges), func(i int) bool { return ranges[i].End > r.Start })
	return i < len(ranges) && ranges[i].Start < r.End
}

// Bloat is how much of the memory on huge pages nobody needs.
type Bloat struct {
	// Most is an upper bound, in bytes: base pages that hold nothing but zeros. Of
	// more huge pages than are read it is an estimate.
	Most  uint64
	Read  int // huge pages that were read
	Pages int // huge pages that there are
}

// readAtMost is how many huge pages are read to learn of bloat: one takes a
// fifth of a millisecond.
const readAtMost = 64

// BloatOf reads some huge pages, at most so many, evenly spread: the kernel does not know
// what of them a program has written, but what it has not is zero.
func BloatOf(p *page.Process, windows []page.Window, most int) (*Bloat, error) {
	var huge []page.Window
	for _, w := range windows {
		if w.Huge == uint64(w.Range.Len()) {
			huge = append(huge, w)
		}
	}
	b := &Bloat{Pages: len(huge)}
	var resident, zero uint64
	step := max(1, (len(huge)+most-1)/most)
	for i := 0; i < len(huge); i += step {
		res, err := p.Residency(huge[i].Range, &page.ResidencyOptions{Touched: true})
		if err != nil {
			return nil, err
		}
		b.Read++
		resident += res.Resident
		zero += res.Resident - min(res.Touched, res.Resident)
	}
	if b.Read > 0 {
		b.Most = uint64(float64(zero) / float64(b.Read) * float64(b.Pages))
	}
	if resident == 0 && b.Read > 0 {
		return nil, errors.New("the memory was released as it was read")
	}
	return b, nil
}
