package lab

import (
	"errors"
	"fmt"
	"time"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

var madvise = &Experiment{
	Name:     "madvise",
	Question: "Which way of returning memory to the OS is cheaper, MADV_DONTNEED or MADV_FREE, with and without a shortage of memory?",
	Source:   "Changkun Ou (2021): new memory after MADV_FREE costs as much as after MADV_DONTNEED with base pages, but 101 ms instead of 36 ms for 512 MiB with huge pages; the cause was not found",
	Figures: []Figure{
		{Key: "cycle_seconds", Label: "release, use again", Unit: "sec/page"},
		{Key: "advise_seconds", Label: "release", Unit: "advise-sec/page"},
		{Key: "again_seconds", Label: "use again", Unit: "again-sec/page"},
		{Key: "other_seconds", Label: "use other memory", Unit: "other-sec/page"},
		{Key: "other_huge_fraction", Label: "of it huge", Unit: "other-huge-fraction"},
		{Key: "kept_fraction", Label: "still resident", Unit: "kept-fraction"},
		{Key: "again_faults", Label: "faults again", Unit: "again-faults", Minor: true},
	},
	Curves:   1,
	defaults: Params{Size: 512 << 20, Count: 16, Rounds: 7},
	quick:    Params{Size: 128 << 20, Count: 4, Rounds: 5},
	arms:     madviseArms,
	work:     madviseWork,
	meaning:  madviseMeaning,
	charts:   chartsOfMadvise(),
}

func madviseArms(m *Machine, p Params) []*Arm {
	var arms []*Arm
	for _, k := range []struct {
		name string
		kind page.Kind
	}{{"base", page.Base}, {"thp", page.THP}} {
		for _, how := range []struct{ name, about string }{
			{"keep", "nothing is released"},
			{"dontneed", "MADV_DONTNEED"},
			{"free", "MADV_FREE"},
			{"dontneed-pressure", "MADV_DONTNEED, in a cgroup that cannot hold the memory twice"},
			{"free-pressure", "MADV_FREE, in such a cgroup: what was released must be taken before other memory can be used"},
		} {
			a := m.memoryArm(k.name+"-"+how.name, how.about, k.kind, 0, p.Size)
			a.Task.How = how.name
			if hasPressure(how.name) {
				m.needCgroup(a, p.Size+p.Size/4+(32<<20))
			}
			arms = append(arms, a)
		}
	}
	return arms
}

// pressure ends the names of arms that run in a cgroup too small for what they
// use, unless what they released is really taken.
const pressure = "-pressure"

func hasPressure(how string) bool {
	return len(how) > len(pressure) && how[len(how)-len(pressure):] == pressure
}

func madviseWork(p *probe, t Task) error {
	settle()
	list := sizes(t.Size)
	if hasPressure(t.How) {
		list = list[len(list)-1:] // smaller sizes find room enough
	}
	for _, size := range list {
		var c cycles
		for range max(1, min(t.Count, int(t.Size/size))) {
			if err := c.add(p, size); err != nil {
				return err
			}
		}
		n := size / uint64(page.Size())
		p.point(size, value{"cycle_seconds", per(median(c.cycle), n)}, value{"advise_seconds", per(median(c.advise), n)},
			value{"again_seconds", per(median(c.again), n)}, value{"other_seconds", per(median(c.other), n)},
			value{"other_huge_fraction", c.otherHuge}, value{"kept_fraction", c.kept}, value{"again_faults", float64(c.faults)})
	}
	return nil
}

// cycles are times of returning memory to the OS and using it again.
type cycles struct {
	advise, again, cycle, other []time.Duration
	kept, otherHuge             float64 // of the last cycle
	faults                      uint64
}

// add maps memory, writes to it, releases it, writes to other memory, and
// writes to the first memory again.
func (c *cycles) add(p *probe, size uint64) (err error) {
	m, err := p.mapping(size, page.Touch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.Close()) }()
	base, step := start(m), uint64(page.Size())
	begin := time.Now()
	if err := release(m, p.task.How); err != nil {
		return err
	}
	advise := time.Since(begin)
	resident, _, err := huge(m)
	if err != nil {
		return err
	}
	c.kept = float64(resident) / float64(m.Len())

	other, err := p.mapping(size, page.Lazy)
	if err != nil {
		return err
	}
	otherBase := start(other)
	begin = time.Now()
	touch(otherBase, size, step)
	took := time.Since(begin)
	resident, isHuge, err := huge(other)
	if resident > 0 {
		c.otherHuge = float64(isHuge) / float64(resident)
	}
	if err = errors.Join(err, other.Close()); err != nil {
		return err
	}

	before := minorFaults()
	begin = time.Now()
	touch(base, size, step)
	again := time.Since(begin)
	c.faults = minorFaults() - before
	c.advise, c.again = append(c.advise, advise), append(c.again, again)
	c.cycle, c.other = append(c.cycle, advise+again), append(c.other, took)
	return nil
}

func release(m *page.Mapping, how string) error {
	var err error
	switch how {
	case "dontneed", "dontneed" + pressure:
		_, err = m.Release(0, m.Len(), page.ReleaseDontNeed, nil)
	case "free", "free" + pressure:
		_, err = m.Release(0, m.Len(), page.ReleaseFree, nil)
	}
	return err
}

func madviseMeaning(o *Outcome) []string {
	var out []string
	size := o.Params.Size
	for _, kind := range []struct{ name, text string }{{"base", "base pages"}, {"thp", "huge pages"}} {
		d, f := o.Arm(kind.name+"-dontneed"), o.Arm(kind.name+"-free")
		a, b := o.at(d, size, "cycle_seconds"), o.at(f, size, "cycle_seconds")
		if a == 0 || b == 0 {
			continue
		}
		text := fmt.Sprintf("With %s, to release memory and use it again costs %s per page with MADV_DONTNEED and %s with MADV_FREE",
			kind.text, unit.Seconds(a), unit.Seconds(b))
		if o.decided(d, f, "cycle_seconds", a/b) {
			better, r := "MADV_FREE", a/b
			if r < 1 {
				better, r = "MADV_DONTNEED", 1/r
			}
			text += fmt.Sprintf(": %s is %s as fast", better, unit.Ratio(r))
		}
		if k := o.at(f, size, "kept_fraction"); k > 0.5 {
			text += fmt.Sprintf("; after MADV_FREE %s stays resident until the kernel is short of memory", unit.Percent(k))
		}
		out = append(out, text+".")
		dp, fp := o.Arm(kind.name+"-dontneed"+pressure), o.Arm(kind.name+"-free"+pressure)
		x, y := o.at(dp, size, "other_seconds"), o.at(fp, size, "other_seconds")
		if x == 0 || y == 0 {
			continue
		}
		text = fmt.Sprintf("Under memory pressure, with %s, other memory of %s costs %s per page after MADV_DONTNEED and %s after MADV_FREE (%s and %s of it huge)",
			kind.text, unit.Exact(size), unit.Seconds(x), unit.Seconds(y),
			unit.Percent(o.at(dp, size, "other_huge_fraction")), unit.Percent(o.at(fp, size, "other_huge_fraction")))
		if y > x && o.decided(dp, fp, "other_seconds", x/y) {
			text += ": what was freed lazily must be reclaimed first"
		}
		out = append(out, text+".")
	}
	return out
}
