package diagnose

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/program/gctrace"
	"github.com/foliomem/folio/internal/trial"
)

// DigestOf is the digest of all samples that were traced.
func DigestOf(samples []*trial.Sample) []string {
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
	heap, live := float64(g.HeapSum)/n, float64(g.LiveSum)/n
	text := fmt.Sprintf("%s; mean heap %s, %s live", frequency(n/wall), atLeast(heap), atLeast(live))
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
		out = append(out, "GC work by gctrace: "+strings.Join(parts, ", ")+".")
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
