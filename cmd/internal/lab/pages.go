package lab

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/page"
)

var pages = &Experiment{
	Name:     "pages",
	Question: "What does address translation cost random reads, by page size?",
	Source:   "Evan Jones, Pages Are a Good Idea (2023): random reads of 4 GiB are 2.9 times faster with 2 MiB pages and 3.1 times with 1 GiB pages (Intel i5-1135G7)",
	Figures: []Figure{
		{Key: "latency_seconds", Label: "dependent read", Unit: "latency-sec/read"},
		{Key: "throughput_seconds", Label: "independent read", Unit: "sec/read"},
		{Key: "huge_fraction", Label: "huge", Unit: "huge-fraction"},
	},
	Curves:   2,
	defaults: Params{Size: 4 << 30, Count: 1 << 20, Rounds: 7},
	quick:    Params{Size: 1 << 30, Count: 1 << 18, Rounds: 5},
	arms:     pagesArms,
	work:     pagesWork,
	meaning:  pagesMeaning,
	charts: []Chart{
		pagesChart("Dependent reads: each waits for the one before", "latency_seconds", "reads-latency"),
		pagesChart("Independent reads: several in flight", "throughput_seconds", "reads-throughput"),
	},
}

func pagesArms(m *Machine, p Params) []*Arm {
	arms := []*Arm{
		m.memoryArm("base", unit.Exact(uint64(m.BasePage))+" pages", page.Base, 0, p.Size),
		m.memoryArm("thp", "transparent huge pages (MADV_HUGEPAGE)", page.THP, 0, p.Size),
	}
	for _, size := range m.PoolSizes {
		text := unit.Exact(uint64(size))
		arms = append(arms, m.memoryArm("hugetlb-"+text, text+" pages from a reserved pool", page.HugeTLB, size, p.Size))
	}
	for _, size := range m.THPSizes {
		if size == m.HugePage {
			continue
		}
		text := unit.Exact(uint64(size))
		arms = append(arms, m.memoryArm("thp-"+text, "transparent huge pages of "+text, page.THP, size, p.Size))
	}
	return arms
}

// seed starts the generator of random reads: any number will do.
const seed = 0x9e3779b97f4a7c15

func pagesWork(p *probe, t Task) error {
	if t.Size&(t.Size-1) != 0 || t.Size < 8*line {
		return fmt.Errorf("size %d: must be a power of two of %d or more", t.Size, 8*line)
	}
	if t.Size > 8<<40 {
		return fmt.Errorf("size %d: more than the generator of random words can reach", t.Size)
	}
	settle()
	m, err := p.mapping(t.Size, page.Populate)
	if err != nil {
		return err
	}
	base := start(m)
	resident, isHuge, err := huge(m)
	if err != nil {
		return err
	}
	fraction := 0.0
	if resident > 0 {
		fraction = float64(isHuge) / float64(resident)
	}
	var sink uint64
	count := (t.Count + 3) &^ 3 // see read
	for _, size := range sizes(t.Size) {
		n := uint(bits.Len64(size)) - 1
		link(base, n-6)
		at := chase(base, 0, min(count, int(size/line))) // warm
		begin := time.Now()
		at = chase(base, at, count)
		latency := time.Since(begin)

		sink += at + read(base, n-3, seed, lcgMul, lcgInc, min(count, int(size/line)))
		begin = time.Now()
		sink += read(base, n-3, seed, lcgMul, lcgInc, count)
		throughput := time.Since(begin)

		p.point(size, value{"latency_seconds", per(latency, uint64(count))},
			value{"throughput_seconds", per(throughput, uint64(count))}, value{"huge_fraction", fraction})
	}
	runtime.KeepAlive(sink) // no compiler may leave the loops out
	return m.Close()
}

func pagesMeaning(o *Outcome) []string {
	base := o.Arm("base")
	var out []string
	for _, name := range []string{"thp", "hugetlb-2MiB", "hugetlb-1GiB"} {
		a := o.Arm(name)
		var parts []string
		if r := o.times(base, a, "latency_seconds"); r != "" {
			parts = append(parts, r+" as fast when each waits for the one before")
		}
		if r := o.times(base, a, "throughput_seconds"); r != "" {
			parts = append(parts, r+" as fast when they are independent")
		}
		if len(parts) > 0 {
			text := fmt.Sprintf("Random reads of %s with %s: %s.", unit.Exact(o.Params.Size), kinds[name], strings.Join(parts, ", "))
			if f := a.Values(o.Params.Size, "huge_fraction"); len(f) > 0 && stat.Median(f) < 0.99 {
				text += fmt.Sprintf(" Only %s of that memory was huge.", unit.Percent(stat.Median(f)))
			}
			out = append(out, text)
		}
		if name == "thp" {
			out = append(out, reach(o, base, a)...)
		}
	}
	return out
}

var kinds = map[string]string{
	"thp": "transparent huge pages", "hugetlb-2MiB": "2 MiB pages from a reserved pool", "hugetlb-1GiB": "1 GiB pages from a reserved pool",
}

// reach says at which sizes huge pages gain 10% in latency, by all rows of the table that the
// runs decide: single sizes may be slower, by where their pages happen to lie in the caches.
func reach(o *Outcome, base, hugeArm *ArmResult) []string {
	var sizes []uint64
	var much, less []bool // neither: undecided
	for _, size := range o.Sizes() {
		if o.at(base, size, "latency_seconds") > 0 && o.at(hugeArm, size, "latency_seconds") > 0 {
			more, decided := gains(base.Values(size, "latency_seconds"), hugeArm.Values(size, "latency_seconds"), 1.1)
			sizes, much, less = append(sizes, size), append(much, decided && more), append(less, decided && !more)
		}
	}
	if len(sizes) < 2 {
		return nil
	}
	little := 0 // rows in the beginning that gain less than 10%
	for little < len(less) && less[little] {
		little++
	}
	from := len(much) // row from which on all gain 10% or more
	for from > 0 && much[from-1] {
		from--
	}
	switch {
	case little == len(less):
		return []string{"In latency, huge pages gain less than 10% at every size."}
	case from == len(much):
		return nil // the largest size does not gain what smaller ones do: noise, or too few runs
	case from == 0:
		return []string{"In latency, huge pages gain 10% or more at every size."}
	}
	text := fmt.Sprintf("In latency, huge pages gain 10%% or more at every size from %s on", unit.Exact(sizes[from]))
	switch {
	case slices.Contains(much[:from], true):
		text += "; below, at some"
	case little > 0:
		text = fmt.Sprintf("In latency, huge pages gain less than 10%% up to %s, and 10%% or more from %s on",
			unit.Exact(sizes[little-1]), unit.Exact(sizes[from]))
	}
	return []string{text + "."}
}

// gains says whether values are less than base by that factor or more, if the runs decide it.
func gains(base, values []float64, factor float64) (more, decided bool) {
	scaled := make([]float64, len(values))
	for i, v := range values {
		scaled[i] = v * factor
	}
	c := stat.Compare(base, scaled)
	return c.Ratio < 1, c.Different
}
