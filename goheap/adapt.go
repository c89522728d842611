package goheap

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/internal/base/advice"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

const (
	// leastReserved is the size that the heap must be about to pass. What it has by then
	// stays on base pages until it is collapsed.
	leastReserved = 64 << 20
	// firstReserve is the address space of the first step, or all up to twice as much. The
	// runtime's tables for it take a thousandth of that. Each further step doubles it.
	firstReserve = 512 << 20
	// adaptEvery is how often the heap is looked at while it grows.
	adaptEvery    = 50 * time.Millisecond
	sampleWindows = 8 // reading one takes 0.2 ms
)

// smallFor is how long a heap stays small before its reserve is given up. Tests shorten it.
var smallFor = 30 * time.Second

// adaptive is a reserve that follows the heap.
type adaptive struct {
	limit     uint64 // GOMEMLIMIT as the user set it: the tuner's is another
	over      bool   // given up for good
	full      bool   // the limit leaves no room for more
	committed uint64 // at the last look
	small     time.Time
	wait      backoff
	sampled   struct{ resident, written uint64 } // of huge pages at the last survey
}

// newAdaptive says why there can be none.
func newAdaptive(fs procmem.FS) (*adaptive, error) {
	d := &adaptive{limit: readHeap().limit, wait: backoff{least: time.Minute, most: time.Hour}}
	if _, err := memoryLimit(fs, d.limit); err != nil {
		return nil, err
	}
	thp, err := fs.THP()
	if err != nil {
		return nil, err
	}
	if s := thp.Enabled.Selected; s != "madvise" {
		return nil, fmt.Errorf("the THP policy is %q: only with madvise the heap has to ask for huge pages", s)
	}
	if err := page.Allowed(page.THP, 0); err != nil {
		return nil, err
	}
	const never = 2 // address space counts as memory
	if n, err := fs.Sysctl("vm/overcommit_memory"); err == nil && n == never {
		return nil, errors.New("vm.overcommit_memory is 2: address space that is not used would count as memory")
	}
	return d, nil
}

// near reports whether the heap may soon be large enough.
func (d *adaptive) near(h heapState) bool { return d != nil && !d.over && h.goal >= leastReserved }

// leastWait is the shortest time between two looks.
func (a *Advisor) leastWait() time.Duration {
	d := a.adaptive
	switch {
	case d == nil || d.over:
		return a.options.MinWait
	case a.stats.Reserved.Len() == 0:
		// Until there is a reserve the heap grows into base pages, some programs by
		// half a GiB a second.
		return min(adaptEvery/5, a.options.MinWait)
	}
	return min(adaptEvery, a.options.MinWait)
}

// adapt makes the reserve, has it ask for huge pages ahead of the heap, or gives it up. It
// reports whether to look again soon.
func (a *Advisor) adapt(now time.Time, h *heapState) (soon bool) {
	d := a.adaptive
	if d == nil || d.over {
		return false
	}
	c := h.committed()
	grew := c > d.committed+d.committed/64
	d.committed = c
	if c < leastReserved/4 || h.goal < leastReserved {
		a.heedSmall(now)
		// The next GC cycle may come soon, and the news of it late: the reserve is to be
		// there before the program's requests are.
		return grew && h.goal >= leastReserved/4
	}
	d.small = time.Time{}
	if d.wait.left(now) > 0 {
		return false
	}
	if a.stats.Advised.Len() > 0 {
		if why := a.unfit(now); why != "" {
			a.giveUp(now, why)
			return false
		}
	}
	if err := a.follow(h); err != nil {
		a.failed(fmt.Errorf("adaptive reserve: %w", err))
		d.wait.again(now)
	}
	return grew
}

// heedSmall gives the reserve up when the heap has been small for long. It comes back when
// the heap grows.
func (a *Advisor) heedSmall(now time.Time) {
	d := a.adaptive
	switch {
	case a.stats.Advised.Len() == 0:
		d.small = time.Time{}
	case d.small.IsZero():
		d.small = now
	case now.Sub(d.small) >= smallFor:
		a.giveUp(now, "the heap is small")
		d.wait.reset()
	}
}

// unfit says why huge pages do not suit the program or the machine now, "" if they do.
func (a *Advisor) unfit(now time.Time) string {
	// A program that is not sparse has pages that it cleared, or has not come to yet: up to
	// a quarter was seen.
	if s := a.adaptive.sampled; float64(s.written) < advice.LeastDenseWindow*float64(s.resident) {
		a.adaptive.over = true // it is in memory by now: that is how the program is
		return fmt.Sprintf("the heap is sparse: %s of %s in huge pages were never written to",
			unit.Size(sub(s.resident, s.written)), unit.Size(s.resident))
	}
	if pressed, err := a.pressure.above(a.fs, now, a.options.MaxPressure); err != nil {
		a.failed(err)
	} else if pressed {
		return "memory pressure"
	}
	return ""
}

// sample reads some of the huge pages of the reserve, to see whether they are in use.
func (d *adaptive) sample(huge []page.Range) {
	if d == nil || d.over {
		return
	}
	d.sampled.resident, d.sampled.written = 0, 0
	// Up to the highest ones the heap may just be growing.
	const growing = 2
	n := len(huge) - growing
	if n < sampleWindows {
		return
	}
	for i := range sampleWindows {
		res, err := huge[i*n/sampleWindows].Residency(&page.ResidencyOptions{Touched: true})
		if err != nil {
			continue
		}
		d.sampled.resident += res.Resident
		d.sampled.written += res.Touched
	}
}

// follow has the reserve ask for huge pages as far as the heap can grow before the next
// look, and makes it or extends it as far as the limit allows.
func (a *Advisor) follow(h *heapState) error {
	s := &a.stats
	ahead := uintptr(h.goal + h.goal/4)
	if uintptr(h.goal) > s.Reserved.Len() && !a.adaptive.full {
		if err := a.extend(h); err != nil {
			return err
		}
	}
	if s.Reserved.Len() == 0 {
		return nil
	}
	end := s.Reserved.Start + min(ahead, s.Reserved.Len())
	next := page.Range{Start: max(s.Advised.End, s.Reserved.Start), End: end}.Outward(page.WindowSize())
	if next.Len() == 0 {
		return nil
	}
	if err := a.unfence(next); err != nil {
		return err
	}
	s.Advised, s.GivenUp = page.Range{Start: s.Reserved.Start, End: next.End}, ""
	return nil
}

// extend makes the reserve, or makes it larger.
func (a *Advisor) extend(h *heapState) error {
	d, s := a.adaptive, &a.stats
	limit, err := memoryLimit(a.fs, d.limit)
	if err != nil {
		d.full = true // the limit was lifted
		return nil
	}
	// The reserve counts as allocated for a moment: within both limits.
	limit = min(limit, h.limit-min(h.limit/32, h.limit))
	had := uint64(s.Reserved.Len())
	if had == 0 {
		if err := a.dense(*h); err != nil {
			return err
		}
	}
	var n uint64
	if n, d.full = nextReserve(limit, h.total, had); n == 0 {
		return nil
	}
	r, err := growHeap(a.fs, n)
	if err != nil {
		return err
	}
	*h = readHeap()
	if had > 0 {
		ranges, err := own(a.fs)
		if err != nil {
			return err
		}
		// Between the two lies what the heap had grown by before. It cannot pass the limit.
		most := uintptr(limit - limit%uint64(page.WindowSize()))
		both := page.Range{Start: s.Reserved.Start, End: max(s.Reserved.End, min(r.End, s.Reserved.Start+most))}
		if !slices.ContainsFunc(ranges, func(h page.Range) bool {
			return h.Start <= both.Start && both.End <= h.End && both.Start <= r.Start
		}) {
			d.full = true // it is elsewhere: two reserves are not worth the trouble
			return nil
		}
		r = both
	}
	s.Reserved = r
	a.info(fmt.Sprintf("reserved %s for the heap to grow into huge pages", unit.Size(s.Reserved.Len())))
	return nil
}

// nextReserve returns by how many bytes the reserve grows from what it has, 0 for not at all,
// and whether that is all that it can have. total is what the runtime has in memory.
func nextReserve(limit, total, had uint64) (n uint64, full bool) {
	step, least := uint64(firstReserve), uint64(leastReserved)
	if had > 0 {
		// It costs a GC cycle of a large heap, and the free memory of that: not for little.
		step, least = had, had/2
	}
	// What the heap does not have in memory of the reserve is not in total.
	n = sub(limit, max(total, had))
	if n > 2*step {
		n = step
	}
	n -= n % uint64(page.WindowSize())
	full = n != step
	if n < least {
		n = 0
	}
	return n, full
}

// dense returns an error if the program does not use the heap that it has.
func (a *Advisor) dense(h heapState) error {
	ranges, err := own(a.fs)
	if err != nil {
		return err
	}
	var resident uint64
	for _, r := range ranges {
		res, err := r.Residency(nil)
		if err != nil {
			return err
		}
		resident += res.Resident
	}
	if c := h.committed(); float64(resident) < a.options.MinDensity*float64(c) {
		return fmt.Errorf("not made: the heap is sparse: %s of %s are in memory", unit.Size(resident), unit.Size(c))
	}
	return nil
}

// giveUp has the reserve no longer ask for huge pages, and releases what they have in
// vain.
func (a *Advisor) giveUp(now time.Time, why string) {
	s := &a.stats
	if err := a.fence(s.Advised); err != nil {
		a.failed(fmt.Errorf("adaptive reserve: %w", err))
	}
	s.Advised, s.GivenUp = page.Range{}, why
	a.reach, a.fencedTo = 0, 0
	a.adaptive.wait.again(now)
	a.info("the reserve no longer asks for huge pages: " + why)
	if err := a.survey(readHeap(), now); err != nil {
		a.failed(err)
	} else if a.bloated() {
		a.releases.reset()
		a.releaseAgain(now)
	}
}
