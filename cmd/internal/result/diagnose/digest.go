package diagnose

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// DigestOf is the digest of all samples that were traced. Its rate is that of the medians
// that are shown beside it.
func DigestOf(samples []*trial.Sample) []string {
	var all gctrace.Summary
	var cycles, span []float64
	partial := false
	for _, s := range samples {
		if !s.OK() {
			continue
		}
		span, partial = append(span, s.Span()), partial || partlySeen(s)
		if s.GC != nil {
			all.Merge(*s.GC)
			cycles = append(cycles, float64(s.GC.Cycles))
		}
	}
	if len(cycles) == 0 || !(stat.Median(span) > 0) {
		return nil
	}
	return digest(all, stat.Median(cycles)/stat.Median(span), partial)
}

// partlySeen says that a sample may have had more GC cycles than its trace shows.
func partlySeen(s *trial.Sample) bool { return s.GCTrace == trial.TracePartial || s.GCCycles == nil }

// digest says in a sentence or two what the GC did: how often it ran, on what, and who
// marked; nothing when there was no GC cycle.
//
// It is told the rate of GC cycles. Of processes whose trace was seen in part the rate
// is a lower bound, and the rest is of the cycles that were seen.
func digest(g gctrace.Summary, perSecond float64, partial bool) []string {
	if g.Cycles == 0 {
		return nil
	}
	n := float64(g.Cycles)
	heap, live := float64(g.HeapSum)/n, float64(g.LiveSum)/n
	text, seen := fmt.Sprintf("mean heap %s, %s live", atLeast(heap), atLeast(live)), ""
	if partial {
		seen = ", of the cycles seen"
		text += seen
	}
	switch often := frequency(perSecond); {
	case !(perSecond > 0): // not in most runs
		text = "M" + text[1:]
	case partial:
		text = "At least " + often + "; " + text
	default:
		text = often + "; " + text
	}
	switch {
	case g.Forced == g.Cycles:
		text += "; all forced (runtime.GC)"
	case g.Forced > 0:
		text += fmt.Sprintf("; %s forced (runtime.GC)", unit.Percent(float64(g.Forced)/n))
	}
	out := []string{text + "."}
	if g.CPU > 0 {
		background := max(g.CPU-g.AssistCPU-g.IdleCPU-g.PauseCPU, 0)
		var parts []string
		for _, p := range []struct {
			cpu  float64
			what string
		}{
			{background.Seconds(), "background marking"},
			{g.AssistCPU.Seconds(), "mark assists"},
			{g.IdleCPU.Seconds(), "marking on idle CPUs"},
			{g.PauseCPU.Seconds(), "stop-the-world"},
		} {
			if p.cpu >= 0.005*g.CPU.Seconds() {
				parts = append(parts, unit.Percent(p.cpu/g.CPU.Seconds())+" "+p.what)
			}
		}
		out = append(out, "GC work by gctrace"+seen+": "+strings.Join(parts, ", ")+".")
	}
	return out
}

// frequency says how often GC cycles ran.
func frequency(perSecond float64) string {
	if perSecond >= 1 {
		return unit.Rate(perSecond) + " GCs/s"
	}
	return "one GC per " + unit.Seconds(1/perSecond)
}

// atLeast is a mean of sizes in whole MiB, as the trace has them: rounded down.
func atLeast(v float64) string {
	if v < 1<<20 {
		return "less than " + unit.Size(1<<20)
	}
	return unit.Bytes(v)
}
