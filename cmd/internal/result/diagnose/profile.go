package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
	"github.com/foliomem/folio/internal/base/unit"
)

// Where samples say what each kind of work cost, its share of CPU time is the most
// that its cure can gain (Amdahl's law), and advice comes in that order.

// littleTax is the part of CPU time below which a cost is not worth a user's time,
// and littleMemory that of all of memory management.
const (
	littleTax    = 0.02
	littleMemory = 0.05
)

// part is the share of these classes in CPU time, 0 if it was not sampled; at least that
// where much time is in code without names, but for page faults, which the kernel names.
func (s *RunFacts) part(classes ...profile.Class) float64 {
	sum := 0.0
	if s.Profile != nil {
		for _, c := range classes {
			sum += s.Profile.Share(c).Fraction
		}
	}
	return sum
}

// payers names the call sites that pay most for these classes, and their part.
func (s *RunFacts) payers(n int, classes ...profile.Class) string {
	type payer struct {
		name string
		part float64
	}
	if s.Profile == nil {
		return ""
	}
	var all []payer
	for _, site := range s.Profile.Sites {
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
		out = append(out, fmt.Sprintf("%s %s", p.name, unit.Percent(p.part)))
	}
	return strings.Join(out, ", ")
}

func adviseGC(s *RunFacts) (float64, NextStep, bool) {
	gain, sampled := s.gcShare()
	f := NextStep{What: fmt.Sprintf("Tune the GC: up to %s less CPU time", unit.Percent(gain))}
	if sampled {
		f.Evidence = fmt.Sprintf("marking %s, assists %s, sweeping %s, write barriers %s of CPU time",
			unit.Percent(s.part(profile.GCMark)), unit.Percent(s.part(profile.GCAssist)),
			unit.Percent(s.part(profile.GCSweep)), unit.Percent(s.part(profile.WriteBarrier)))
		if s.Cycles != nil {
			f.Evidence += ", in " + s.cycles()
		}
	} else {
		estimate, ok := s.runtimeShare()
		if !ok || estimate >= 1 || s.Cycles == nil || *s.Cycles == 0 { // more than all CPU time says nothing: see runfacts
			return 0, NextStep{}, false
		}
		gain = estimate
		f.What = "Tune the GC: its share was not measured"
		f.Evidence = fmt.Sprintf("GC CPU by the runtime %s, in %s", unit.Seconds(*s.RuntimeCPU), s.cycles())
	}
	f.Fix = s.line("tune")
	return gain, f, gain >= littleGC
}

func adviseAllocation(s *RunFacts) (float64, NextStep, bool) {
	gain := s.part(profile.Allocation, profile.Zeroing)
	who := s.payers(3, profile.Allocation, profile.Zeroing)
	if gain < littleTax || who == "" || !s.Profile.Shares() {
		return 0, NextStep{}, false
	}
	return gain, NextStep{
		What: fmt.Sprintf("Allocate less, or in bulk (reuse, arenas): up to %s less CPU time, and less GC", unit.Percent(gain)),
		Evidence: fmt.Sprintf("allocation %s, zeroing %s of CPU time", unit.Percent(s.part(profile.Allocation)),
			unit.Percent(s.part(profile.Zeroing))),
		Fix: "at " + who,
	}, true
}

func adviseGrowth(s *RunFacts) (float64, NextStep, bool) {
	gain := s.part(profile.Growth)
	who := s.payers(3, profile.Growth)
	if gain < littleTax || who == "" || !s.Profile.Shares() {
		return 0, NextStep{}, false
	}
	return gain, NextStep{
		What:     fmt.Sprintf("Make slices and maps with their final size: up to %s less CPU time", unit.Percent(gain)),
		Evidence: fmt.Sprintf("copying them as they grow took %s of CPU time", unit.Percent(gain)),
		Fix:      "at " + who,
	}, true
}
