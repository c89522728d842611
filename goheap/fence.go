package goheap

import (
	"cmp"
	"slices"

	"github.com/foliomem/folio/internal/system/page"
)

// What is fenced is out of khugepaged's reach (MADV_NOHUGEPAGE). What is huge stays
// so. Faults in what is used again give base pages, which the advisor
// collapses if they are dense.

// fence fences a part of the heap.
func (a *Advisor) fence(r page.Range) error {
	if r.Len() == 0 {
		return nil
	}
	if err := r.Advise(page.AdviseNoHuge); err != nil {
		return err
	}
	a.stats.Fenced = union(append(slices.Clone(a.stats.Fenced), r))
	return nil
}

// fenceReserve fences the reserve up to an address.
func (a *Advisor) fenceReserve(end uintptr) error {
	fresh := page.Range{Start: max(a.fencedTo, a.stats.Reserved.Start), End: min(end, a.stats.Reserved.End)}
	if err := a.fence(fresh); err != nil {
		return err
	}
	a.fencedTo = max(a.fencedTo, fresh.End)
	return nil
}

// fenceUsed fences what khugepaged would fill again after it was released: of a
// reserve, what was used, up to the last window with anything in it; and where all
// memory is within its reach, the heap as it is now. What the heap grows
// by later begins without a fence, on huge pages.
func (a *Advisor) fenceUsed() error {
	if err := a.fenceReserve(a.reach); err != nil {
		return err
	}
	thp, err := a.fs.THP()
	if err != nil || thp.Enabled.Selected != "always" || !fills(thp) {
		return err
	}
	for _, r := range a.stats.Ranges {
		if err := a.fence(r); err != nil {
			return err
		}
	}
	return nil
}

// unfence has a part of the heap ask for huge pages, fenced or not.
func (a *Advisor) unfence(r page.Range) error {
	if r.Len() == 0 {
		return nil
	}
	if err := r.Advise(page.AdviseHuge); err != nil {
		return err
	}
	var left []page.Range
	for _, f := range a.stats.Fenced {
		for _, part := range []page.Range{{Start: f.Start, End: min(f.End, r.Start)}, {Start: max(f.Start, r.End), End: f.End}} {
			if part.Len() > 0 {
				left = append(left, part)
			}
		}
	}
	a.stats.Fenced = left
	return nil
}

// fenced reports whether a part of a window is.
func (a *Advisor) fenced(w page.Range) bool {
	return slices.ContainsFunc(a.stats.Fenced, func(f page.Range) bool { return w.Start < f.End && f.Start < w.End })
}

// release undoes fences and the reserve as far as they can be undone. Under madvise,
// memory that is advised against huge pages is treated like memory that nobody
// advised; under always it is the other way about.
func (a *Advisor) release() error {
	if a.stats.Reserved.Len() == 0 && len(a.stats.Fenced) == 0 {
		return nil
	}
	if thp, err := a.fs.THP(); err == nil && thp.Enabled.Selected != "always" {
		return a.fenceReserve(a.stats.Reserved.End)
	}
	for _, r := range a.stats.Fenced {
		if err := r.Advise(page.AdviseHuge); err != nil {
			return err
		}
	}
	a.stats.Fenced = nil
	return nil
}

// union returns what any of the ranges has, ascending.
func union(ranges []page.Range) (out []page.Range) {
	slices.SortFunc(ranges, func(x, y page.Range) int { return cmp.Compare(x.Start, y.Start) })
	for _, r := range ranges {
		if n := len(out); n > 0 && r.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, r.End)
			continue
		}
		out = append(out, r)
	}
	return out
}
