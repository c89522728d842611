package goheap

import (
	"runtime"
	"slices"
	"time"

	"github.com/foliomem/folio/internal/system/page"
)

// Looking at all pages of a heap of base pages takes milliseconds of CPU time a
// GiB: 1% of the time at most, or 4% while much of the heap is in base pages, or a quarter of
// a percent where requests would wait for it (see pace).
const (
	rest      = 100
	restWhile = 25
	// soonCoverage is what a heap has within five seconds of having grown.
	soonCoverage = 0.8
)

// survey looks at the pages of the heap, and notes what there is to collapse.
func (a *Advisor) survey(h heapState, now time.Time) error {
	// On a busy machine most of the time is waiting for a processor.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	began := threadTime()
	if h.mapped != a.last.mapped || len(a.stats.Ranges) == 0 {
		ranges, err := own(a.fs)
		if err != nil {
			return err
		}
		a.stats.Ranges = ranges
	}
	s := &a.stats
	s.Mapped, s.Resident, s.Huge = 0, 0, 0
	s.Windows.Already, s.Windows.Empty, s.Windows.Sparse = 0, 0, 0
	a.todo = a.todo[:0]
	whole := uintptr(page.WindowSize())
	var huge []page.Range // of the reserve
	for _, r := range s.Ranges {
		res, err := r.Residency(&page.ResidencyOptions{Windows: true})
		if err != nil {
			return err
		}
		s.Mapped += uint64(r.Len())
		s.Resident += res.Resident
		s.Huge += res.Huge
		s.Windows.Empty += int(r.Inward(int(whole)).Len()/whole) - len(res.Windows)
		for _, w := range res.Windows {
			switch {
			case w.Range.Len() != whole:
			case w.Huge == uint64(whole):
				s.Windows.Already++
			case w.Resident == 0:
				s.Windows.Empty++
			case w.Density() < a.options.MinDensity:
				s.Windows.Sparse++
			default:
				a.todo = append(a.todo, w)
			}
		}
		for _, w := range res.Windows {
			if w.Range.Start >= s.Reserved.Start && w.Range.End <= s.Reserved.End {
				a.reach = max(a.reach, w.Range.End)
				if w.Huge == uint64(whole) {
					huge = append(huge, w.Range)
				}
			}
		}
	}
	// An adaptive reserve is fenced when there is bloat: what the runtime released, and uses
	// again, is to be on huge pages again.
	if s.Reserved.Len() > 0 && a.adaptive == nil {
		if thp, err := a.fs.THP(); err == nil && fills(thp) {
			if err := a.fenceReserve(a.reach); err != nil {
				a.failed(err)
			}
		}
	}
	s.Windows.Empty = max(s.Windows.Empty, 0)
	slices.SortStableFunc(a.todo, func(x, y page.Window) int { return int(int64(y.Resident) - int64(x.Resident)) })
	a.adaptive.sample(huge)
	// What was committed meanwhile may be resident, so that it is not bloat.
	after := readHeap()
	s.Committed = max(h.committed(), after.committed())
	s.Bloat = sub(s.Resident, s.Committed)
	s.Looks++
	s.Looked = now
	a.last, a.settled = h, false
	a.pace.begin(len(a.todo))
	a.pass.tried, a.pass.collapsed = 0, 0
	factor := time.Duration(rest)
	if len(a.todo) > 0 && s.Coverage() < soonCoverage {
		factor = restWhile
	}
	if a.pace.slow {
		factor = rest * slowRests
	}
	a.rested = now.Add(factor * (threadTime() - began))
	return nil
}
