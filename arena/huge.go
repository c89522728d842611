package arena

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/foliomem/folio/internal/system/page"
)

// hugeSize is the size of a window; 0 where there are no huge pages.
var hugeSize = sync.OnceValue(func() int64 { return int64(page.HugeSize()) })

// advise asks for huge pages for a new slab, before it is first touched:
// later it would be too late, as a window that has a base page gets no huge
// page by a fault. The windows that the slab is part of are advised whole. What
// else is in them belongs to the Go heap too, which is dense, so that little of
// a huge page is wasted; but for a small slab that is certain only when it is
// one of many.
func (d *depot[T]) advise(s *slab[T], set *settings) {
	b := s.bytes()
	if !set.huge || b < largeSlab || hugeSize() == 0 {
		return
	}
	if b < hugeSize()/4 && inUseBytes.Load() < 16*hugeSize() {
		return
	}
	r := page.RangeOf(s.buf).Outward(int(hugeSize()))
	if s.huge = r.Advise(page.AdviseHuge) == nil; s.huge {
		fillWindows(r)
	}
}

// fillWindows makes huge pages of the windows in r of which a part was touched before they were
// advised: otherwise each page that is missing there would take a fault of its own. Where few are
// missing, that is cheaper.
func fillWindows(r page.Range) {
	res, err := r.Residency(&page.ResidencyOptions{Windows: true})
	if err != nil {
		return // all works without
	}
	for _, w := range res.Windows {
		missing := int64(w.Range.Len()) - int64(w.Resident+w.Zero+w.Swapped)
		if w.Resident == 0 || w.Huge > 0 || w.HugeUnknown || missing < hugeSize()/4 {
			continue
		}
		if page.Allowed(page.THP, 0) != nil { // to collapse works without, too
			return
		}
		w.Range.Collapse(&page.CollapseOptions{AnyDensity: true})
	}
}

// earlyRelease is from when on memory without pointers that one Free leaves to the
// GC is returned to the system at once. For less the calls cost more than they
// are worth.
const earlyRelease = 1 << 20

// heapPage is the unit of the runtime's large objects: the rest of a slab's last
// one has nothing else in it.
const heapPage = 8 << 10

// dropped are slabs that are left to the GC.
type dropped[T any] struct {
	list  *slab[T]
	bytes int64
	large int64 // of that, which might have been idle
}

func (d *dropped[T]) add(s *slab[T]) {
	s.link, d.list = d.list, s
	b := s.bytes()
	d.bytes += b
	if b >= largeSlab && s.size != own {
		d.large += b
	}
}

// end leaves to the GC what one arena dropped because no more than most bytes may
// be idle.
func (d *dropped[T]) end(in *depot[T], most int64) {
	if d.large > 0 && most < 0 {
		lately.gaveBack(d.large)
	}
	d.leave(in, most != 0)
}

// leave leaves the slabs to the GC. Until it takes them, memory without pointers
// does not count, and of that with pointers an arena may reuse the large slabs.
func (d *dropped[T]) leave(in *depot[T], reuse bool) {
	if !in.pointers {
		if d.bytes >= earlyRelease && hugeSize() != 0 {
			list := d.list // d itself stays on the stack
			discards.Go(func() { discard(list) })
		}
		return
	}
	for s := d.list; s != nil && reuse; {
		next := s.link
		s.link = nil
		if s.bytes() >= largeSlab && s.size != own {
			in.leftovers.add(s)
		}
		s = next
	}
}

// discards are the calls of discard that are under way: the system takes its time, some
// 5 us for each MiB, for which who called Free does not wait.
var discards sync.WaitGroup

// discard returns the memory of slabs without pointers to the system. Only whole
// windows are: of slabs that lie side by side, as those of one arena do when they
// were made one after the other, also the windows that they share. Nothing but
// the slabs is in those windows, nobody takes the slabs meanwhile, and the runtime
// expects neither the pages nor zeros there: it clears memory that was in use before
// it hands it out again.
//
// Memory with pointers must never come here, not even if it is cleared first.
// Discarding stores zeros without a write barrier. While the GC marks, a pointer
// that is overwritten has to be shaded, since a goroutine whose stack was scanned
// before may have loaded it. If somebody who kept a pointer past Free or Reset
// stores q after the clearing, and a cycle begins, and its goroutine is scanned
// and loads q, then discarding takes the only other copy before the GC has seen it:
// q is freed in use. No order of clearing and discarding closes that gap, as
// nobody can stop such a goroutine or keep a cycle from beginning. Leaving the slab
// to the GC does: it frees the slab when nobody can store to it any more.
// Without pointers the GC does not look into the slab, and what was kept reads
// zeros at worst.
func discard[T any](list *slab[T]) {
	var ranges []page.Range
	for s := list; s != nil; s = s.link {
		if s.bytes() >= largeSlab {
			ranges = append(ranges, page.RangeOf(s.buf))
		}
	}
	slices.SortFunc(ranges, func(a, b page.Range) int { return cmp.Compare(a.Start, b.Start) })
	for len(ranges) > 0 {
		r := ranges[0]
		for ranges = ranges[1:]; len(ranges) > 0 && ranges[0].Start-r.End < heapPage; ranges = ranges[1:] {
			r.End = ranges[0].End
		}
		// An error means that the memory stays until the GC frees it.
		r.Release(page.ReleaseDontNeed, nil)
	}
	runtime.KeepAlive(list)
}
