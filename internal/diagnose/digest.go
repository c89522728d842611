package diagnose

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliomem/folio/internal/gctrace"
	"github.com/foliomem/folio/internal/trial"
)

// digest is the digest of all samples that were traced. What sampling sees need
// not be said to be missing.
func digest(samples []*trial.Sample, sampled bool) []string {
	var all gctrace.Summary
	wall := 0.0
	for _, s := range samples {
		if s.OK() && s.GC != nil {
			all.Merge(*s.GC)
			wall += s.Wall
		}
	}
	out := Digest(all, wall)
	if len(out) > 0 && !sampled {
		out = append(out, Hidden(all, wall))
	}
	return out
}

// Digest says in a sentence or two what the collector did in a time in seconds:
// how often it ran, on what, and who did its work. It says nothing when the
// collector did not run.
func Digest(g gctrace.Summary, wall float64) []string {
	if g.Cycles == 0 || !(wall > 0) {
		return nil
	}
	n := float64(g.Cycles)
	heap, live := math.Round(float64(g.HeapSum)/n/(1<<20)), math.Round(float64(g.LiveSum)/n/(1<<20))
	text := fmt.Sprintf("It ran %s, on average at a heap of %s of which %s was live", frequency(n/wall), atLeast(heap), atLeast(live))
	switch {
	case g.Forced == g.Cycles:
		text += "; the program asked for it each time (runtime.GC)"
	case g.Forced > 0:
		text += fmt.Sprintf("; the program asked for %.0f%% of that (runtime.GC)", math.Ceil(100*float64(g.Forced)/n))
	}
	out := []string{text + "."}
	if g.CPU > 0 {
		part := func(d float64) string { return fmt.Sprintf("%.0f%%", 100*d/g.CPU.Seconds()) }
		background := max(g.CPU-g.AssistCPU-g.IdleCPU-g.PauseCPU, 0)
		var parts []string
		for _, p := range []struct {
			cpu  float64
			what string
		}{
			{background.Seconds(), "into marking in the background"},
			{g.AssistCPU.Seconds(), "into assists of goroutines that allocate"},
			{g.IdleCPU.Seconds(), "into marking on processors that were idle otherwise"},
			{g.PauseCPU.Seconds(), "into stops of the program"},
		} {
			if p.cpu >= 0.005*g.CPU.Seconds() {
				parts = append(parts, part(p.cpu)+" "+p.what)
			}
		}
		out = append(out, "Of its time went "+list(parts)+".")
	}
	return out
}

// Hidden says what the collector's account leaves out, and whether that matters
// at this frequency.
func Hidden(g gctrace.Summary, wall float64) string {
	text := "Not in its account: sweeping, write barriers, pools and caches that are emptied, threads that are woken and stopped"
	if rate := float64(g.Cycles) / wall; rate >= manyCyclesHz {
		return fmt.Sprintf("%s: %.0f times a second here, so judge by throughput, not by the collector's share.", text, rate)
	}
	return text + "."
}

// frequency says how often something happens.
func frequency(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%.0f times a second", perSecond)
	case perSecond >= 1:
		return fmt.Sprintf("%.1f times a second", perSecond)
	}
	return "every " + seconds(1/perSecond)
}

// atLeast is a size in whole MiB, as the trace has it: rounded down.
func atLeast(m float64) string {
	if m < 1 {
		return "less than 1 MiB"
	}
	return fmt.Sprintf("%.0f MiB", m)
}

// list puts words together: a, b and c.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
