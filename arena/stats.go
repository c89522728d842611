package arena

import (
	"errors"
	"fmt"

	"github.com/foliomem/folio/internal/system/page"
)

// Stats is what [Arena.Stats] reports.
type Stats struct {
	Name string // from the options

	Objects   uint64 // number of values in use; elements of slices count one by one
	Used      uint64 // bytes allocated since the arena was made or reset
	Allocated uint64 // bytes allocated since the arena was made
	Reserved  uint64 // bytes of all slabs of the arena; Used is a part of it
	Types     int    // number of types
	Slabs     int    // number of slabs

	Resident     uint64 // bytes of Reserved that are in memory
	Huge         uint64 // bytes of Resident that are on huge pages
	ResidencyErr error  // why Resident and Huge are 0 or incomplete; nil if they were measured

	// WhyNotHuge is why Coverage is below 90%; nil if it is not, or if nothing is resident.
	WhyNotHuge error
}

// Coverage returns Huge / Resident; 0 if nothing is resident.
func (s Stats) Coverage() float64 {
	if s.Resident == 0 {
		return 0
	}
	return float64(s.Huge) / float64(s.Resident)
}

// lowCoverage is below what an explanation is due: the edges of a large arena
// alone take a few percent.
const lowCoverage = 0.9

// Stats returns what the arena has allocated, and how much of that is in memory and on huge
// pages. It asks the kernel, which takes about a millisecond per GiB. After Free and Put all
// fields are zero.
func (a *Arena) Stats() Stats {
	if !a.usable() {
		return Stats{}
	}
	set := a.more.settings()
	c := counter{Stats: Stats{Name: set.name, Allocated: a.past()}}
	if b := a.one.in; b != nil {
		b.self.count(hide(&a.one), &c)
	}
	if b := a.two.in; b != nil {
		b.self.count(hide(&a.two), &c)
	}
	if a.more != nil {
		for b := a.more.rest; b != nil; b = b.next {
			b.self.count(b.handle, &c)
		}
	}
	c.Allocated += c.Used
	if c.Resident > 0 && c.Coverage() < lowCoverage {
		c.WhyNotHuge = c.why(set)
	}
	return c.Stats
}

func (a *Arena) past() uint64 {
	if a.more == nil {
		return 0
	}
	return uint64(a.more.past)
}

// counter adds up the slabs of an arena.
type counter struct {
	Stats
	asked  uint64 // resident in slabs that are advised
	whole  uint64 // of that, without huge page in a window that is all the slab's
	shared uint64 // and in one that is not
}

func (s *stock[T]) count(h *core, c *counter) {
	if h != nil {
		c.Types++
	}
	size := uint64(s.depot.size)
	for l := s.slabs; l != nil; l = l.link {
		used := l.used
		if l == s.slabs && h != nil {
			used = s.used(h)
		}
		c.Objects += uint64(used)
		c.Used += uint64(used) * size
		if size > 0 {
			c.slab(page.RangeOf(l.buf), l.huge)
		}
	}
	for l := s.kept; l != nil; l = l.link {
		c.slab(page.RangeOf(l.buf), l.huge)
	}
}

func (c *counter) slab(r page.Range, huge bool) {
	c.Slabs++
	c.Reserved += uint64(r.Len())
	res, err := r.Residency(&page.ResidencyOptions{Windows: huge})
	if err != nil {
		c.ResidencyErr = err
		return
	}
	// The kernel counts whole pages, of which a small slab may have a part.
	c.Resident += min(res.Resident, uint64(r.Len()))
	c.Huge += min(res.Huge, uint64(r.Len()))
	if !huge {
		return
	}
	c.asked += res.Resident
	for _, w := range res.Windows {
		if w.Huge >= w.Resident {
			continue
		}
		if int64(w.Range.Len()) == hugeSize() {
			c.whole += w.Resident - w.Huge
		} else {
			c.shared += w.Resident - w.Huge
		}
	}
}

// why explains low coverage.
func (c *counter) why(set *settings) error {
	switch {
	case !set.huge:
		return errors.New("huge pages are off in the arena's options")
	case hugeSize() == 0:
		return fmt.Errorf("the system has no transparent huge pages: %w", page.ErrNotSupported)
	}
	if err := page.Allowed(page.THP, 0); err != nil {
		return err
	}
	small := c.Resident - min(c.asked, c.Resident)
	switch {
	case small >= c.whole && small >= c.shared:
		return fmt.Errorf("%d of %d bytes are in slabs too small for huge pages of %d bytes", small, c.Resident, hugeSize())
	case c.shared > c.whole:
		return fmt.Errorf("%d of %d bytes are in windows that other parts of the heap had touched before: alignment", c.shared, c.Resident)
	}
	return fmt.Errorf("%d of %d bytes are in windows for which the kernel had no huge page, or had base pages already: memory is short or fragmented (thp_fault_fallback in /proc/vmstat counts)", c.whole, c.Resident)
}
