package lab

import (
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"time"

	"github.com/foliomem/folio/internal/trial"
	"github.com/foliomem/folio/page"
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
	Curve:    true,
	defaults: Params{Size: 4 << 30, Count: 1 << 20, Rounds: 7},
	quick:    Params{Size: 1 << 30, Count: 1 << 18, Rounds: 5},
	arms:     pagesArms,
	work:     pagesWork,
	meaning:  pagesMeaning,
}

func pagesArms(m *Machine, p Params) []*Arm {
	arms := []*Arm{
		m.memoryArm("base", trial.FormatBytes(uint64(m.BasePage))+" pages", page.Base, 0, p.Size),
		m.memoryArm("thp", "transparent huge pages (MADV_HUGEPAGE)", page.THP, 0, p.Size),
	}
	for _, size := range m.PoolSizes {
		text := trial.FormatBytes(uint64(size))
		arms = append(arms, m.memoryArm("hugetlb-"+text, text+" pages from a reserved pool", page.HugeTLB, size, p.Size))
	}
	for _, size := range m.THPSizes {
		if size == m.HugePage {
			continue
		}
		text := trial.FormatBytes(uint64(size))
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
		lat, tput := o.times(base, a, "latency_seconds"), o.times(base, a, "throughput_seconds")
		if lat == "" || tput == "" {
			continue
		}
		if name != "thp" {
			out = append(out, fmt.Sprintf("With %s it is %s and %s.", name, lat, tput))
			continue
		}
		text := fmt.Sprintf("Random reads of %s: transparent huge pages make them %s as fast when each waits for the one before, %s when they are independent.",
			trial.FormatBytes(o.Params.Size), lat, tput)
		if f := o.at(a, o.Params.Size, "huge_fraction"); f < 0.99 {
			text += fmt.Sprintf(" Only %.0f%% of that memory was huge.", 100*f)
		}
		out = append(out, text)
		if reach := tlbReach(o, base, a); reach > 0 {
			out = append(out, fmt.Sprintf("Up to %s huge pages gain less than 10%% in latency; beyond that size it is more.", trial.FormatBytes(reach)))
		}
	}
	return out
}

// tlbReach returns the size beyond which base pages are always more than 10%
// slower than huge ones; 0 if there is none. Below it single sizes may be slower,
// too, by where their pages happen to lie in the caches.
func tlbReach(o *Outcome, base, hugeArm *ArmResult) uint64 {
	sizes := o.Sizes()
	for i, size := range slices.Backward(sizes) {
		b, h := o.at(base, size, "latency_seconds"), o.at(hugeArm, size, "latency_seconds")
		if h == 0 || b > 1.1*h {
			continue
		}
		if i == len(sizes)-1 {
			return 0
		}
		return size
	}
	return 0
}
