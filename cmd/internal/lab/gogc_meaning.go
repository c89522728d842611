package lab

import (
	"fmt"
	"math"
	"strings"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

func gogcMeaning(o *Outcome) (out []string) {
	for _, f := range gogcFindings(o) {
		out = append(out, f.value(o))
		if s := f.scaling(o); s != "" {
			out = append(out, s)
		}
		out = append(out, f.traces(o)...)
	}
	return out
}

// value says which GOGC is best, what it takes, and what the tuner makes of it.
func (f *gogcFinding) value(o *Outcome) string {
	text := f.load.title + ": "
	switch gain := f.bestRate / f.baseRate; {
	case gain < worth:
		text += fmt.Sprintf("no GOGC gains %s over the default", unit.Percent(worth-1))
	case !o.decided(f.base, f.best, opsKey, gain):
		text += "no GOGC is faster than the default beyond doubt"
	default:
		text += fmt.Sprintf("%s is best: %s the default's operations, with %s instead of %s", f.best.Arm.About,
			unit.Ratio(gain), unit.Bytes(f.bestRSS), unit.Bytes(o.at(f.base, o.Params.Size, rssKey)))
	}
	if gain := f.tunedRate / f.baseRate; gain > 0 && o.decided(f.base, f.tuned, opsKey, gain) {
		text += fmt.Sprintf("; gctune, told nothing, reaches %s the default with %s", unit.Ratio(gain), unit.Bytes(f.tunedRSS))
		if v := o.at(f.tuned, o.Params.Size, "gogc"); v > 0 {
			text += fmt.Sprintf(" (GOGC=%.0f in the end)", v)
		}
	}
	return text + "."
}

// scaling says what each goroutine does beside others, of what it does alone.
func (f *gogcFinding) scaling(o *Outcome) string {
	one := o.at(o.gogcArm(f.load, VariesGoroutines, "100", 1), o.Params.Size, opsKey)
	if one == 0 {
		return ""
	}
	var parts []string
	for _, a := range o.Arms {
		n := a.Arm.Task.Goroutines
		rate := o.at(a, o.Params.Size, "goroutine_ops_per_second")
		if n < 2 || rate == 0 || a.Arm.Work != f.load.name || a.Arm.Varies != VariesGoroutines {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d of them at %s", n, unit.Percent(rate/one)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  With the default, goroutines work, of what one does alone: " + strings.Join(parts, ", ") + "."
}

// traces puts into words what the traced runs of the slowest and of the best value say.
func (f *gogcFinding) traces(o *Outcome) (out []string) {
	if !f.apart || len(f.worst.Traced) < fewestRuns || len(f.best.Traced) < fewestRuns {
		return nil // chance may have made the difference
	}
	out = append(out, f.digest("slowest", f.worst), f.digest("best", f.best))
	rate := func(a *ArmResult) float64 { return o.at(a, o.Params.Size, "cycles_per_second") }
	if rate(f.worst) < rate(f.best) {
		return append(out, fmt.Sprintf("  %s collects less and does less work: its larger heap costs page faults and caches more than it saves.", f.worst.Arm.About))
	}
	// What GC explains: the work is done in the time that it leaves.
	worst, best := sampledGC(f.worst), sampledGC(f.best)
	if seen, lost := (1-worst)/(1-min(best, 0.99)), f.worstRate/f.bestRate; lost < seen-0.02 {
		out = append(out, fmt.Sprintf("  By its GC share, %s should do %s of the best's work. It does %s: GC cycles also empty pools and caches, and stop and wake threads.",
			f.worst.Arm.About, unit.Percent(seen), unit.Percent(lost)))
	}
	return out
}

// sampledGC is the GC's share of CPU time in the traced runs; NaN where they could not
// be sampled.
func sampledGC(a *ArmResult) float64 {
	share, ok := trial.FigureOf("gc_cpu_fraction").Center(a.Traced)
	if !ok {
		return math.NaN()
	}
	return share
}

func (f *gogcFinding) digest(rank string, a *ArmResult) string {
	var all gccount.Figures
	wall := 0.0
	for _, s := range a.Traced {
		if s.GC != nil {
			all = all.Plus(*s.GC)
			wall += s.Wall
		}
	}
	did := "no GC cycle."
	if n := float64(all.Cycles); n > 0 && wall > 0 && all.Seen > 0 {
		seen := float64(all.Seen)
		did = fmt.Sprintf("%s GCs/s; mean heap %s, %s live.", unit.Rate(n/wall), unit.Bytes(float64(all.HeapSum)/seen), unit.Bytes(float64(all.LiveSum)/seen))
		if share := sampledGC(a); !math.IsNaN(share) {
			did = fmt.Sprintf("GC takes %s of CPU time, by sampling; %s", unit.Percent(share), did)
		}
	}
	return fmt.Sprintf("  %s, the %s: %s", a.Arm.About, rank, did)
}
