package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/internal/where"
)

// Where samples say what each kind of work cost, its share of the processor time
// is the most that its cure can gain (Amdahl's law), and advice comes in that
// order.

// littleTax is the part of processor time below which a cost is not worth a
// user's time, and littleMemory that of all of memory management.
const (
	littleTax    = 0.02
	littleMemory = 0.05
	// apart is how far sampling and the collector's trace may differ without a word.
	apart = 0.03
)

// splitKernel says that samples tell page faults from other work of the kernel.
func (s *Sheet) splitKernel() bool { return s.Where != nil && s.Where.Kernel }

// tax says what managing memory cost in all, and, where the collector's own
// figure is far from it, why.
func (s *Sheet) tax() []string {
	tax := s.Where.MemoryTaxFraction
	line := fmt.Sprintf("Managing memory (*) took %s of processor time, %s of all: the memory tax", seconds(tax*s.CPU), percent(tax))
	if !s.Where.Kernel {
		line += ", without the page faults, which are in the kernel's time"
	}
	out := []string{line + "."}
	if tax < littleMemory {
		out = append(out, "Memory is not this program's problem.")
	}
	if n := s.Where.TLBMisses; n != nil {
		out = append(out, fmt.Sprintf("The processor walked the page tables for %d loads, %.0f a millisecond; what that took is in the figures of the code that did it.", *n, float64(*n)/(1e3*s.CPU)))
	}
	share, ok := s.gcShare()
	if !ok {
		return out
	}
	sampled := s.part(collection...)
	switch {
	case sampled > share+apart:
		out = append(out, fmt.Sprintf("Sampling sees %s in collection where its trace has %s: the trace leaves out sweeping, write barriers, and starting and stopping its workers.", percent(sampled), percent(share)))
	case share > sampled+apart:
		out = append(out, fmt.Sprintf("Sampling sees %s in collection where its trace has %s: the trace counts its workers' time from start to end, also while they wait for a processor.", percent(sampled), percent(share)))
	}
	return out
}

// part is the share of these classes in the processor time, 0 if it was not
// sampled.
func (s *Sheet) part(classes ...where.Class) float64 {
	sum := 0.0
	if s.Where != nil {
		for _, c := range classes {
			sum += s.Where.Share(c).Fraction
		}
	}
	return sum
}

// payers names the call sites that pay most for these classes, and their part.
func (s *Sheet) payers(n int, classes ...where.Class) string {
	type payer struct {
		name string
		part float64
	}
	var all []payer
	for _, site := range s.Where.Sites {
		sum := 0.0
		for _, c := range classes {
			sum += site.Classes[c] * site.Fraction
		}
		if sum >= littleTax/2 {
			name := site.Name()
			if at := site.Place(); at != "" {
				name += " (" + at + ")"
			}
			all = append(all, payer{name, sum})
		}
	}
	slices.SortStableFunc(all, func(a, b payer) int { return cmp.Compare(b.part, a.part) })
	var out []string
	for _, p := range all[:min(n, len(all))] {
		out = append(out, fmt.Sprintf("%s %s", p.name, percent(p.part)))
	}
	return strings.Join(out, ", ")
}

var collection = []where.Class{where.GCMark, where.GCAssist, where.GCSweep, where.WriteBarrier}

func adviseSampledCollector(s *Sheet) (float64, Finding, bool) {
	gain := s.part(collection...)
	if gain < littleTax {
		return 0, Finding{}, false
	}
	evidence := fmt.Sprintf("marking %s, assists %s, sweeping %s, write barriers %s",
		percent(s.part(where.GCMark)), percent(s.part(where.GCAssist)), percent(s.part(where.GCSweep)), percent(s.part(where.WriteBarrier)))
	if s.Cycles != nil {
		evidence += fmt.Sprintf(" of processor time, in %s", cycles(*s.Cycles))
	}
	return gain, Finding{
		What:     fmt.Sprintf("tune the collector: at most %s of the processor time can be gained", percent(gain)),
		Evidence: evidence,
		Fix:      s.line("tune"),
	}, true
}

func adviseAllocation(s *Sheet) (float64, Finding, bool) {
	gain := s.part(where.Allocation, where.Zeroing)
	if gain < littleTax {
		return 0, Finding{}, false
	}
	who := s.payers(3, where.Allocation, where.Zeroing)
	if who == "" {
		return 0, Finding{}, false
	}
	return gain, Finding{
		What:     fmt.Sprintf("allocate less, or in bulk (reuse, an arena): at most %s can be gained, and what marking and sweeping these objects costs", percent(gain)),
		Evidence: fmt.Sprintf("allocation %s, zeroing %s of processor time", percent(s.part(where.Allocation)), percent(s.part(where.Zeroing))),
		Fix:      "at " + who,
	}, true
}

func adviseGrowth(s *Sheet) (float64, Finding, bool) {
	gain := s.part(where.Growth)
	if gain < littleTax {
		return 0, Finding{}, false
	}
	who := s.payers(3, where.Growth)
	if who == "" {
		return 0, Finding{}, false
	}
	return gain, Finding{
		What:     fmt.Sprintf("make slices and maps of the right size at once: at most %s can be gained", percent(gain)),
		Evidence: fmt.Sprintf("copying them as they grow took %s of processor time", percent(gain)),
		Fix:      "at " + who,
	}, true
}

func adviseSampledFaults(s *Sheet) (float64, Finding, bool) {
	gain := s.part(where.PageFaults)
	if gain < littleTax {
		return 0, Finding{}, false
	}
	f := Finding{
		What:     fmt.Sprintf("take fewer page faults: at most %s of the processor time can be gained", percent(gain)),
		Evidence: fmt.Sprintf("%.0f faults took %s of processor time", s.Faults, percent(gain)),
		Fix:      s.faultFix(),
	}
	return gain, f, true
}
