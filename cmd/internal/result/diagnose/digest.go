package diagnose

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// DigestOf is the digest of all samples whose GC was read. Its rate is that of the medians
// that are shown beside it.
func DigestOf(samples []*trial.Sample) []string {
	var all gccount.Figures
	var cycles, span []float64
	partial := false
	for _, s := range samples {
		if !s.OK() {
			continue
		}
		span, partial = append(span, s.Span()), partial || partlySeen(s)
		if s.GC != nil {
			all = all.Plus(*s.GC)
			cycles = append(cycles, float64(s.GC.Cycles))
		}
	}
	if len(cycles) == 0 || !(stat.Median(span) > 0) {
		return nil
	}
	return digest(all, stat.Median(cycles)/stat.Median(span), partial)
}

// SavedTrace says what the output of a program with GODEBUG=gctrace=1 tells; nil of anything else.
func SavedTrace(data []byte) []string {
	var c gctrace.Counter
	_, _ = c.Write(data)
	if c.End(); c.Cycles == 0 {
		return nil
	}
	return Trace(&c)
}

// Trace says what a saved trace of GODEBUG=gctrace=1 tells.
func Trace(c *gctrace.Counter) []string {
	cycles, text := unit.Plural(c.Cycles, "cycle"), ""
	if c.Gaps {
		cycles = "at least " + cycles
		text = " Lines are missing, or mixed with other output: there were more cycles."
	}
	out := []string{fmt.Sprintf("GC: %s in the first %s of the process; stop-the-world %s total, %s max.%s",
		cycles, unit.Seconds(c.Until.Seconds()), unit.Seconds(c.PauseTotal.Seconds()), unit.Seconds(c.PauseMax.Seconds()), text)}
	return append(out, digest(gccount.OfTrace(c.Summary), float64(c.Cycles)/max(c.Until.Seconds(), 0.001), c.Gaps)...)
}

// partlySeen says that a sample may have had more GC cycles than its trace shows.
func partlySeen(s *trial.Sample) bool { return s.GCCounted == trial.GCPartial || s.GCCycles == nil }

// digest says in a sentence or two what the GC did: how often it ran, on what, and who
// marked; nothing when there was no GC cycle.
//
// It is told the rate of GC cycles. Of processes that were read in part the rate
// is a lower bound, and the rest is of the cycles that were seen. Means of the heap are of those
// cycles that were the last one when the runtime was read.
func digest(g gccount.Figures, perSecond float64, partial bool) []string {
	if g.Cycles == 0 {
		return nil
	}
	n := float64(g.Cycles)
	text, seen := "mean heap not known", ""
	if seen := float64(g.Seen); seen > 0 {
		text = fmt.Sprintf("mean heap %s, %s live", unit.Bytes(float64(g.HeapSum)/seen), unit.Bytes(float64(g.LiveSum)/seen))
	}
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
	if total := g.CPU.Total(); total > 0 {
		var parts []string
		for _, p := range []struct {
			cpu  float64
			what string
		}{
			{g.CPU.Dedicated.Seconds(), "background marking"},
			{g.CPU.Assist.Seconds(), "mark assists"},
			{g.CPU.Idle.Seconds(), "marking on idle CPUs"},
			{g.CPU.Pause.Seconds(), "stop-the-world"},
		} {
			if p.cpu >= 0.005*total.Seconds() {
				parts = append(parts, unit.Percent(p.cpu/total.Seconds())+" "+p.what)
			}
		}
		out = append(out, "GC time by the runtime's own clock, which counts waits, and all CPUs while the world is stopped"+seen+": "+strings.Join(parts, ", ")+".")
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
