package lab

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

var faults = &Experiment{
	Name:     "faults",
	Question: "What does the first write to fresh memory cost, and what makes it cheaper?",
	Source:   "Changkun Ou, page faults and prefetching (2021): writing a byte per page of 1 GiB takes 187 ms, 72 ms after MADV_HUGEPAGE (Linux 5.8)",
	Figures: []Figure{
		{Key: "page_seconds", Label: "per base page", Unit: "sec/page"},
		{Key: "total_seconds", Label: "in all", Unit: "total-sec"},
		{Key: "write_seconds", Label: "of it writing", Unit: "write-sec/page"},
		{Key: "faults", Label: "faults", Unit: "faults"},
		{Key: "huge_fraction", Label: "huge", Unit: "huge-fraction"},
	},
	Curves:   1,
	defaults: Params{Size: 1 << 30, Count: 16, Rounds: 7},
	quick:    Params{Size: 256 << 20, Count: 8, Rounds: 5},
	arms:     faultsArms,
	work:     faultsWork,
	meaning:  faultsMeaning,
	charts:   chartsOfFaults(),
}

// How the memory of an arm gets its pages.
const (
	byWriting  = ""         // by the writes that are timed
	byPopulate = "populate" // by MADV_POPULATE_WRITE before, timed as well
	byAhead    = "ahead"    // by another thread, ahead of the writes
	byReuse    = "reuse"    // it has them: it was written to before
)

func faultsArms(m *Machine, p Params) []*Arm {
	arms := []*Arm{
		m.memoryArm("base", "each write of a page faults", page.Base, 0, p.Size),
		m.memoryArm("thp", "MADV_HUGEPAGE: one fault for each huge page", page.THP, 0, p.Size),
		m.memoryArm("populate", "MADV_POPULATE_WRITE of all of it, then the writes", page.Base, 0, p.Size),
		m.memoryArm("populate-thp", "both", page.THP, 0, p.Size),
		m.memoryArm("ahead", "another thread populates, "+unit.Exact(piece)+" ahead", page.Base, 0, p.Size),
		m.memoryArm("reused", "memory that was written to before", page.Base, 0, p.Size),
	}
	for i, how := range []string{byWriting, byWriting, byPopulate, byPopulate, byAhead, byReuse} {
		arms[i].Task.How = how
	}
	if m.CPUs < 2 {
		arms[4].NotRun = "one CPU: no second thread can fault ahead"
	}
	return arms
}

// piece is how much another thread populates at a time.
const piece = 2 << 20

func faultsWork(p *probe, t Task) error {
	if t.How != byAhead {
		settle()
	}
	for _, size := range sizes(t.Size) {
		// Small sizes are done often: a single pass is too short for the clock.
		reps := max(1, min(t.Count, int(t.Size/size)))
		var total, write []time.Duration
		var faulted uint64
		var fraction float64
		for range reps {
			m, err := p.mapping(size, page.Lazy)
			if err != nil {
				return err
			}
			all, writing, n, err := firstWrites(m, size, t.How)
			if err != nil {
				return errors.Join(err, m.Close())
			}
			faulted = n
			total, write = append(total, all), append(write, writing)
			resident, isHuge, err := huge(m)
			if err = errors.Join(err, m.Close()); err != nil {
				return err
			}
			if resident > 0 {
				fraction = float64(isHuge) / float64(resident)
			}
		}
		n := size / uint64(page.Size())
		whole := median(total)
		p.point(size, value{"page_seconds", per(whole, n)}, value{"total_seconds", whole.Seconds()},
			value{"write_seconds", per(median(write), n)}, value{"faults", float64(faulted)}, value{"huge_fraction", fraction})
	}
	return nil
}

// firstWrites writes to each page of the first n bytes of m, which may have more:
// whole huge pages. It returns how long it took in all, how long the writes
// themselves, and how many page faults this thread had meanwhile.
func firstWrites(m *page.Mapping, n uint64, how string) (total, writing time.Duration, faulted uint64, err error) {
	base, step := start(m), uint64(page.Size())
	var ahead sync.WaitGroup
	var aheadErr error
	fire := func() {}
	switch how {
	case byReuse:
		touch(base, n, step)
	case byAhead:
		// Both start at the same instant: to wake a thread takes as long as some
		// pages do.
		ready := make(chan struct{})
		var gun atomic.Bool
		ahead.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			close(ready)
			for !gun.Load() {
			}
			for at := piece; at < m.Len() && aheadErr == nil; at += piece {
				aheadErr = m.Populate(at, min(piece, m.Len()-at))
			}
		})
		<-ready
		defer gun.Store(true) // should anything panic
		fire = func() { gun.Store(true) }
	}
	faulted = minorFaults()
	fire()
	begin := time.Now()
	if how == byPopulate {
		if err := m.Range().Populate(); err != nil {
			return 0, 0, 0, err
		}
	}
	written := time.Now()
	touch(base, n, step)
	end := time.Now()
	faulted = minorFaults() - faulted
	ahead.Wait()
	return end.Sub(begin), end.Sub(written), faulted, aheadErr
}

func faultsMeaning(o *Outcome) []string {
	base := o.Arm("base")
	size := o.Params.Size
	b := o.at(base, size, "page_seconds")
	if b == 0 {
		return nil
	}
	text := fmt.Sprintf("First writes to %s of fresh memory take %s, %s a page", unit.Exact(size),
		unit.Seconds(o.at(base, size, "total_seconds")), unit.Seconds(b))
	if again := o.at(o.Arm("reused"), size, "total_seconds"); again > 0 {
		text += fmt.Sprintf("; writes to memory that is used again take %s", unit.Seconds(again))
	}
	out := []string{text + "."}
	for _, x := range []struct{ name, text string }{
		{"thp", "Transparent huge pages make fresh memory %s as fast."},
		{"populate", "Populating it in one call makes it %s as fast."},
		{"populate-thp", "Both together: %s."},
		{"ahead", "Another thread that populates ahead: %s, at the price of its CPU time."},
	} {
		arm := o.Arm(x.name)
		if r := o.times(base, arm, "page_seconds"); r != "" {
			out = append(out, fmt.Sprintf(x.text, r))
		} else if x.name == "thp" {
			if n, r := o.largest(base, arm, "page_seconds"); n > 0 {
				out = append(out, fmt.Sprintf("Transparent huge pages make %s of fresh memory %s as fast.", unit.Exact(n), unit.Ratio(r)))
			}
		}
	}
	return out
}
