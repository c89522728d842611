package page

import (
	"fmt"
	"os"

	"github.com/foliomem/folio/internal/system/sys"
)

// readEntries is the way of kernels before 6.7: /proc/self/pagemap says what is
// present, page by page, and /proc/self/smaps how much of each area is huge.
//
// Only a window that is all present can be huge. If an area has as many such
// windows as smaps says are huge, it is those; if smaps says none, it is none;
// else nobody knows which, only how many.
func readEntries(s system, p pagemap, r Range, t *tally) error {
	data, err := os.ReadFile(s.path("proc/self/smaps"))
	if err != nil {
		return err
	}
	areas, err := parseSmaps(data, r)
	if err != nil {
		return fmt.Errorf("parse /proc/self/smaps: %w", err)
	}
	for _, a := range areas {
		e := entries{system: s, pagemap: p, size: uintptr(windowSize(s)), anonymous: a.anonymous, hugetlb: a.hugetlb}
		if err := e.area(a, r, t); err != nil {
			return err
		}
	}
	return nil
}

// entries reads the pagemap of one area, window by window.
type entries struct {
	system  system
	pagemap pagemap
	size    uintptr // of a window
	// anonymous areas have no file's pages, so it is a page of zeros that is said
	// to be one.
	anonymous bool
	hugetlb   bool // these are never pages of zeros, nor are all of them said to be exclusive
	buf       []sys.Entry
}

func (e *entries) area(a area, r Range, t *tally) error {
	within := a.Range.and(r)
	// Whole windows, as far as they are in the area, so that what r cuts is known
	// too.
	around := a.Range.and(within.Outward(int(e.size)))
	var huge sys.Category // of candidates
	unknown := false
	if a.huge > 0 {
		var all, inside uint64
		err := e.each(a.Range, func(w Range, got []sys.Entry) {
			if e.candidate(w, got) {
				all += uint64(w.Len())
				inside += uint64(w.and(within).Len())
			}
		})
		if err != nil {
			return err
		}
		if all <= a.huge {
			huge = sys.Huge
		} else {
			unknown = true
			least := inside - min(inside, all-a.huge)
			t.sum.Huge += least
			t.sum.HugeUnknown += min(a.huge, inside) - least
		}
	}
	return e.each(around, func(w Range, got []sys.Entry) {
		candidate := e.candidate(w, got)
		kind := huge
		if !candidate {
			kind = 0
		}
		if a.hugetlb {
			kind = sys.Huge
		}
		e.runs(w, got, within, kind, unknown && candidate, t)
	})
}

// each reads r in windows, the first and the last of which r may cut. It stops
// short where the address space ends.
func (e *entries) each(r Range, fn func(w Range, got []sys.Entry)) error {
	page := uintptr(e.system.pageSize())
	if e.buf == nil {
		e.buf = make([]sys.Entry, e.size/page)
	}
	for r.Len() > 0 {
		end := r.Start&^(e.size-1) + e.size
		if end == 0 || end > r.End {
			end = r.End
		}
		want := e.buf[:(end-r.Start)/page]
		for got := 0; got < len(want); {
			n, err := e.pagemap.Read(r.Start+uintptr(got)*page, int(page), want[got:])
			if err != nil {
				return fmt.Errorf("read /proc/self/pagemap: %w", err)
			}
			if n == 0 {
				return nil
			}
			got += n
		}
		fn(Range{r.Start, end}, want)
		r.Start = end
	}
	return nil
}

// candidate reports whether a window may be huge: it is whole, and all present.
func (e *entries) candidate(w Range, got []sys.Entry) bool {
	if w.Len() != e.size {
		return false
	}
	for _, entry := range got {
		if e.category(entry) != sys.Present {
			return false
		}
	}
	return true
}

// category translates an entry. An anonymous page that is mapped only here is
// memory of its own; else it is a page of zeros, or shared with a child.
func (e *entries) category(entry sys.Entry) sys.Category {
	switch {
	case entry.Present() && (e.hugetlb || entry.File() && !e.anonymous || !entry.File() && entry.Exclusive()):
		return sys.Present
	case entry.Present():
		return sys.Present | sys.ZeroPage
	case entry.Swapped():
		return sys.Swapped
	}
	return 0
}

// runs adds the part of a window that is in within.
func (e *entries) runs(w Range, got []sys.Entry, within Range, huge sys.Category, unknown bool, t *tally) {
	page := uintptr(e.system.pageSize())
	within = w.and(within)
	at := func(i int) uintptr { return w.Start + uintptr(i)*page }
	for i := 0; i < len(got); {
		c, j := e.category(got[i]), i+1
		for j < len(got) && e.category(got[j]) == c {
			j++
		}
		if run := (Range{at(i), at(j)}).and(within); c != 0 && run.Len() > 0 {
			if c == sys.Present {
				c |= huge
			}
			t.add(run, c, unknown)
		}
		i = j
	}
}
