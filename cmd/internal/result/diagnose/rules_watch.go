package diagnose

import (
	"errors"
	"fmt"

	"github.com/foliomem/folio/internal/base/unit"
)

// watchRules are about what happens while folio looks.
var watchRules = []Rule{
	{
		ID: "compaction-stalls", Title: "programs wait while huge pages are made", Scope: Host, Severity: Warning,
		Reads: []string{vmstat}, Reference: docTHP, look: lookStalls,
	}, {
		ID: "huge-pages-refused", Title: "requested huge pages are not available", Scope: Host, Severity: Warning,
		Reads: []string{vmstat}, Reference: docTHP, look: lookRefused,
	}, {
		ID: "huge-pages-split", Title: "huge pages are split by programs that return parts of them", Scope: Host, Severity: Warning,
		Reads: []string{vmstat}, Reference: docGuideTHP, look: lookSplit,
	}, {
		ID: "swapping", Title: "memory is swapped in and out", Scope: Host, Severity: Problem,
		Reads: []string{vmstat}, Reference: docVM + "#swappiness", look: lookSwapping,
	}, {
		ID: "memory-pressure", Title: "programs wait for memory", Scope: Container, Severity: Warning,
		Reads:     []string{"/proc/pressure/memory", "memory.pressure of the cgroup"},
		Reference: "https://docs.kernel.org/accounting/psi.html", look: lookPressure,
	},
}

// watched is a reading of counters that went up.
func (f *Facts) watched(text string, rate float64) Reading {
	return Reading{vmstat, fmt.Sprintf("%s: %s a second, over %s", text, unit.Rate(rate), unit.Seconds(f.Watched.Seconds()))}
}

func lookStalls(f *Facts) ([]Finding, error) {
	const often = 5 // a second
	rate, err := f.rate("compact_stall")
	if err != nil || rate < often {
		return nil, err
	}
	h := Finding{
		What:     fmt.Sprintf("Programs wait while huge pages are made, %s times a second.", unit.Rate(rate)),
		Evidence: []Reading{f.watched("compact_stall", rate)},
		Means:    "A page fault that asks for a huge page first compacts other memory: CPU time of the program in the kernel, and long pauses.",
		Fix:      []Step{set("Have huge pages made in the background, for all:", "defer", thpDefrag)},
	}
	if d := f.THP.Value.Defrag; d.Selected != "" {
		h.Evidence = append(h.Evidence, Reading{thpDefrag, bracketed(d)})
	}
	return []Finding{h}, nil
}

func lookRefused(f *Facts) ([]Finding, error) {
	const often, share = 5, 0.1
	refused, err := f.rate("thp_fault_fallback")
	if err != nil {
		return nil, err
	}
	given, err := f.rate("thp_fault_alloc")
	if err != nil || refused < often || refused < share*(refused+given) {
		return nil, err
	}
	return []Finding{{
		What:     fmt.Sprintf("%s of requested huge pages were not available.", unit.Percent(refused/(refused+given))),
		Evidence: []Reading{f.watched("thp_fault_fallback", refused), f.watched("thp_fault_alloc", given)},
		Means:    "No huge page is free, or the container's limit forbids one: the program gets base pages, and keeps them until khugepaged collapses them.",
		Fix: []Step{{Do: "Put free memory together:", Code: "echo 1 | sudo tee /proc/sys/vm/compact_memory"},
			{Do: "If the container is at its limit, raise that."}},
	}}, nil
}

func lookSplit(f *Facts) ([]Finding, error) {
	const often = 20 // a second
	rate, err := f.rate("thp_split_pmd")
	if err != nil || rate < often {
		return nil, err
	}
	h := Finding{
		What:     fmt.Sprintf("Huge pages are split, %s a second.", unit.Rate(rate)),
		Evidence: []Reading{f.watched("thp_split_pmd", rate)},
		Means:    "A program, not necessarily this one, returns parts of huge pages (MADV_DONTNEED, as Go's scavenger and malloc do), changes their protection, or forks. The rest of each is on base pages until khugepaged makes it huge again.",
		Fix: []Step{{Do: "Keep the heap from shrinking and growing again: a higher GOGC, or a memory limit with GOGC=off.",
			Code: "folio tune -- ./program"},
			{Do: "In your own code, release whole windows, as page.Mapping.Release does."}},
	}
	if made, err := f.rate("thp_fault_alloc", "thp_collapse_alloc"); err == nil {
		h.Evidence = append(h.Evidence, f.watched("thp_fault_alloc and thp_collapse_alloc", made))
	}
	return []Finding{h}, nil
}

func lookSwapping(f *Facts) ([]Finding, error) {
	const often = 10 // pages a second
	rate, err := f.rate("pswpin", "pswpout")
	if err != nil || rate < often {
		return nil, err
	}
	return []Finding{{
		What:     fmt.Sprintf("%s a second are swapped in and out.", unit.Size(uint64(rate*float64(f.PageBytes)))),
		Evidence: []Reading{f.watched("pswpin and pswpout", rate)},
		Means:    "A GC cycle reads the whole live heap, so Go programs that are swapped out wait for the disk in each one.",
		Fix: []Step{{Do: "Give the machine's programs less memory, for Go programs by GOMEMLIMIT.",
			Code: "folio tune --max-rss 1GiB -- ./program"},
			{Do: "Or turn swap off for what must not wait: MemorySwapMax=0 in its systemd unit."}},
	}}, nil
}

func lookPressure(f *Facts) ([]Finding, error) {
	const some, grave = 0.01, 0.1 // of the time
	p, err := f.Pressure.get()
	if err != nil {
		return nil, err
	}
	if f.Watched <= 0 {
		return nil, errNotWatched
	}
	if p.After.Some < p.Before.Some {
		return nil, errors.New("the kernel's count went back")
	}
	share := (p.After.Some - p.Before.Some).Seconds() / f.Watched.Seconds()
	if share < some {
		return nil, nil
	}
	h := Finding{
		What: fmt.Sprintf("Programs wait for memory, %s of the time.", unit.Percent(min(share, 1))),
		Evidence: []Reading{{"memory pressure (PSI)", fmt.Sprintf("some waited %s of %s, all of them %s",
			unit.Seconds((p.After.Some - p.Before.Some).Seconds()), unit.Seconds(f.Watched.Seconds()),
			unit.Seconds(max(0, p.After.Full-p.Before.Full).Seconds()))}},
		Means: "Memory is short: the kernel drops caches, compacts memory, or reads it back from disk. More huge pages make that worse, and goheap waits until it is over.",
		Fix:   []Step{{Do: "Raise the memory limit, or have the program use less.", Code: "folio tune --max-rss 1GiB -- ./program"}},
	}
	if share >= grave {
		h.Severity = Problem
	}
	return []Finding{h}, nil
}
