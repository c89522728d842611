package diagnose

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliomem/folio/internal/gctrace"
	"github.com/foliomem/folio/internal/trial"
)

// digest is the digest of all samples that were traced.
func digest(samples []*trial.Sample) []string {
	var all gctrace.Summary
	wall := 0.0
	for _, s := range samples {
		if s.OK() && s.GC != nil {
			all.Merge(*s.GC)
			wall += s.Wall
		}
	}
	return Digest(all, wall)
}

// Digest says in a sentence or two what the GC did in a time in seconds: how often
// it ran, on what, and who marked. It says nothing when there was no GC cycle.
func Digest(g gctrace.Summary, wall float64) []string {
	if g.Cycles == 0 || !(wall > 0) {
		return nil
	}
	n := float64(g.Cycles)
	heap, live := math.Round(float64(g.HeapSum)/n/(1<<20)), math.Round(float64(g.LiveSum)/n/(1<<20))
	text := fmt.Sprintf("%s; mean heap %s, %s live", frequency(n/wall), atLeast(heap), atLeast(live))
	switch {
	case g.Forced == g.Cycles:
		text += "; all forced (runtime.GC)"
	case g.Forced > 0:
		text += fmt.Sprintf("; %.0f%% forced (runtime.GC)", math.Ceil(100*float64(g.Forced)/n))
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
				parts = append(parts, fmt.Sprintf("%.0f%% %s", 100*p.cpu/g.CPU.Seconds(), p.what))
			}
		}
		out = append(out, "GC work by gctrace: "+strings.Join(parts, ", ")+".")
	}
	return out
}

// frequency says how often GC cycles ran.
func frequency(perSecond float64) string {
	switch {
	case perSecond >= 10:
		return fmt.Sprintf("%.0f GCs/s", perSecond)
	case perSecond >= 1:
		return fmt.Sprintf("%.1f GCs/s", perSecond)
	}
	return "one GC per " + seconds(1/perSecond)
}

// atLeast is a size in whole MiB, as the trace has it: rounded down.
func atLeast(m float64) string {
	if m < 1 {
		return "less than 1 MiB"
	}
	return fmt.Sprintf("%.0f MiB", m)
}
