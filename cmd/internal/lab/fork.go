package lab

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
)

var fork = &Experiment{
	Name:     "fork",
	Question: "What do writes cost after fork, while the child holds a snapshot?",
	Source:   "Evan Jones (2023), after Redis (2014): a write then copies 2 MiB instead of 4 KiB, so latency and memory rise with huge pages",
	Figures: []Figure{
		{Key: "p50_seconds", Label: "write p50", Unit: "p50-sec"},
		{Key: "p99_seconds", Label: "p99", Unit: "p99-sec"},
		{Key: "max_seconds", Label: "max", Unit: "max-sec"},
		{Key: "extra_bytes", Label: "extra memory", Unit: "extra-bytes"},
		{Key: "fork_seconds", Label: "fork itself", Unit: "fork-sec"},
		{Key: "faults", Label: "faults", Unit: "faults"},
	},
	defaults: Params{Size: 512 << 20, Count: 20000, Rounds: 7},
	quick:    Params{Size: 128 << 20, Count: 5000, Rounds: 5},
	arms:     forkArms,
	work:     forkWork,
	meaning:  forkMeaning,
	charts: []Chart{
		armsChart("Times", log, "p50_seconds", "p99_seconds", "max_seconds"),
		armsChart("Memory", linear, "extra_bytes"),
		armsChart("The call of fork itself", linear, "fork_seconds"),
	},
}

func forkArms(m *Machine, p Params) []*Arm {
	arms := []*Arm{
		m.memoryArm("no-fork", "base pages, no child: what a write and the clock cost", page.Base, 0, p.Size),
		m.memoryArm("base", "base pages", page.Base, 0, p.Size),
		m.memoryArm("thp", "transparent huge pages", page.THP, 0, p.Size),
	}
	arms[0].Task.How = "alone"
	for _, size := range m.PoolSizes {
		if uint64(size) > p.Size/4 {
			continue // too few pages to write to
		}
		text := unit.Exact(uint64(size))
		// The copies come from the pool, too.
		arms = append(arms, m.memoryArm("hugetlb-"+text, text+" pages from a reserved pool", page.HugeTLB, size, 2*p.Size))
	}
	return arms
}

func forkWork(p *probe, t Task) error {
	m, err := p.mapping(t.Size, page.Populate)
	if err != nil {
		return err
	}
	base, step := start(m), uint64(page.Size())
	touch(base, t.Size, step) // what a child shares must have been written to
	slots := floorPower(t.Size / step)
	writes := int(min(uint64(t.Count), slots))
	took := make([]time.Duration, writes)
	for i := range took {
		took[i] = 1 // no fault for the record while it is made
	}
	settle()
	var child *holder
	var forked time.Duration
	if t.How != "alone" {
		begin := time.Now()
		child, err = newHolder()
		forked = time.Since(begin)
		if err != nil {
			return err
		}
	}
	memory, err := child.memory()
	faulted := minorFaults()
	if err == nil {
		writeEach(base, slots, step, took)
	}
	faulted = minorFaults() - faulted
	after, merr := child.memory()
	if err = errors.Join(err, merr, child.close(), m.Close()); err != nil {
		return err
	}
	slices.Sort(took)
	p.point(t.Size, value{"p50_seconds", quantile(took, 0.5).Seconds()}, value{"p99_seconds", quantile(took, 0.99).Seconds()},
		value{"max_seconds", took[len(took)-1].Seconds()}, value{"extra_bytes", max(0, float64(after)-float64(memory))},
		value{"fork_seconds", forked.Seconds()}, value{"faults", float64(faulted)})
	return nil
}

// memory returns what this process and its child have together, in bytes: each
// page counts once, however many of them share it.
func (h *holder) memory() (uint64, error) {
	if h == nil {
		return 0, nil
	}
	var sum uint64
	for _, pid := range []int{0, h.pid} {
		s, err := procmem.FS{}.SmapsRollup(pid)
		if err != nil {
			return 0, err
		}
		sum += value0(s.Pss) + value0(s.PrivateHugetlb) + value0(s.SharedHugetlb)/2 // hugetlb pages have no Pss
	}
	return sum, nil
}

func value0(p *uint64) uint64 {
	if p == nil {
		return 0
	}
	return *p
}

func forkMeaning(o *Outcome) []string {
	base, thp := o.Arm("base"), o.Arm("thp")
	size := o.Params.Size
	b, h := o.at(base, size, "p99_seconds"), o.at(thp, size, "p99_seconds")
	if b == 0 || h == 0 {
		return nil
	}
	be, he := o.at(base, size, "extra_bytes"), o.at(thp, size, "extra_bytes")
	out := []string{fmt.Sprintf("After a fork, the slowest 1%% of writes take %s or more with base pages and %s with huge pages; %s writes cost %s and %s of memory.",
		unit.Seconds(b), unit.Seconds(h), unit.Number(int64(min(uint64(o.Params.Count),
			floorPower(size/uint64(page.Size()))))), unit.Bytes(be), unit.Bytes(he))}
	switch {
	case be == 0:
	case he < 1.5*be:
		out = append(out, "This kernel does not copy whole huge pages on such a write: it splits them and copies a base page (Linux 5.8 and later). What the source says of Redis does not hold here.")
	default:
		out = append(out, fmt.Sprintf("Huge pages cost %s the memory: a program that forks to save its state should do without.",
			unit.Ratio(he/be)))
	}
	if r := o.times(base, thp, "fork_seconds"); r != "" {
		out = append(out, fmt.Sprintf("fork itself is %s as fast with huge pages.", r))
	}
	return out
}
