package arena

import (
	"cmp"
	"runtime"
	"slices"
	"sync"

	"github.com/foliomem/folio/page"
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
	s.huge = page.Of(s.buf).Outward(int(hugeSize())).Advise(page.Huge) == nil
}

// earlyRelease is from when on what one Free leaves to the collector goes back
// to the system at once. For less the calls cost more than they are worth.
const earlyRelease = 1 << 20

// heapPage is the unit of the runtime's large objects: the rest of a slab's last
// one has nothing else in it.
const heapPage = 8 << 10

// dropped are slabs that are left to the collector.
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

// end gives the slabs back that one arena dropped because no more than most bytes
// may be idle.
func (d *dropped[T]) end(pointers bool, most int64) {
	if d.large > 0 && most < 0 {
		lately.gaveBack(d.large)
	}
	d.giveBack(pointers)
}

// giveBack returns the memory of the slabs to the system, if it is much, so
// that it does not count until the collector gets to them. Only whole windows
// are: of slabs that lie side by side, as those of one arena do when they were
// made one after the other, also the windows that they share. Slabs
// with pointers are cleared first: the kernel zeroes the pages behind the
// collector's back, which must have learnt of the pointers that go. Releasing
// memory of the Go heap is right only because nothing but the slabs is in those
// windows, and the runtime expects neither the pages nor zeros there.
func (d *dropped[T]) giveBack(pointers bool) {
	if d.bytes < earlyRelease || hugeSize() == 0 {
		return
	}
	var ranges []page.Range
	for s := d.list; s != nil; s = s.link {
		if s.bytes() >= largeSlab {
			if pointers {
				s.clear()
			}
			ranges = append(ranges, page.Of(s.buf))
		}
	}
	slices.SortFunc(ranges, func(a, b page.Range) int { return cmp.Compare(a.Start, b.Start) })
	for len(ranges) > 0 {
		r := ranges[0]
		for ranges = ranges[1:]; len(ranges) > 0 && ranges[0].Start-r.End < heapPage; ranges = ranges[1:] {
			r.End = ranges[0].End
		}
		// An error means that the memory stays until the collector frees it.
		r.Release(page.DontNeed, nil)
	}
	runtime.KeepAlive(d.list)
}
