package lab

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/trial"
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
	if f.bestRate < worth*f.baseRate {
		text += "no GOGC is faster than the default"
	} else {
		text += fmt.Sprintf("%s is best: %.2fx the default's operations", f.best.Arm.About, f.bestRate/f.baseRate)
		if !f.different {
			text += " (undecided)"
		}
		text += fmt.Sprintf(", with %s instead of %s", mib(f.bestRSS), mib(o.at(f.base, o.Params.Size, rssKey)))
	}
	if f.tunedRate > 0 {
		text += fmt.Sprintf("; gctune, told nothing, reaches %.2fx the default with %s", f.tunedRate/f.baseRate, mib(f.tunedRSS))
		if v := o.at(f.tuned, o.Params.Size, "gogc"); v > 0 {
			text += fmt.Sprintf(" (GOGC=%.0f in the end)", v)
		}
	}
	return text + "."
}

// scaling says what each goroutine does beside others, of what it does alone.
func (f *gogcFinding) scaling(o *Outcome) string {
	one := o.at(o.Arm(f.load.name+"-goroutines-1"), o.Params.Size, opsKey)
	if one == 0 {
		return ""
	}
	var parts []string
	for _, a := range o.Arms {
		n := a.Arm.Task.Goroutines
		rate := o.at(a, o.Params.Size, "goroutine_ops_per_second")
		if n < 2 || rate == 0 || !strings.HasPrefix(a.Arm.Name, f.load.name+"-goroutines-") {
			continue
		}
		parts = append(parts, fmt.Sprintf("%d of them at %.0f%%", n, 100*rate/one))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  With the default, goroutines work, of what one does alone: " + strings.Join(parts, ", ") + "."
}

// traces puts the traces of the slowest and of the best value into words.
func (f *gogcFinding) traces(o *Outcome) (out []string) {
	worst, best := f.worst.Traced, f.best.Traced
	if worst == nil || best == nil || worst.GC == nil || best.GC == nil {
		return nil
	}
	out = append(out, f.digest("slowest", f.worst, worst), f.digest("best", f.best, best))
	share := func(s *trial.Sample) float64 {
		if s.CPU <= 0 {
			return 0
		}
		return min(s.GC.CPU.Seconds()/s.CPU, 1)
	}
	rate := func(a *ArmResult) float64 { return o.at(a, o.Params.Size, "cycles_per_second") }
	switch {
	case !f.apart: // chance may have made the difference
		return out
	case rate(f.worst) < rate(f.best):
		return append(out, fmt.Sprintf("  %s collects less and does less work: its larger heap costs page faults and caches more than it saves.", f.worst.Arm.About))
	}
	// What the account explains: the work is done in the time that it leaves.
	seen, lost := (1-share(worst))/(1-min(share(best), 0.99)), f.worstRate/f.bestRate
	if lost < seen-0.02 {
		out = append(out, fmt.Sprintf("  By the trace, %s should do %.0f%% of the best's work. It does %.0f%%: %s",
			f.worst.Arm.About, 100*seen, 100*lost, lowerFirst(diagnose.Hidden(*worst.GC, worst.Wall))))
	}
	return out
}

func (f *gogcFinding) digest(rank string, a *ArmResult, s *trial.Sample) string {
	text := fmt.Sprintf("  %s, the %s: ", a.Arm.About, rank)
	lines := diagnose.Digest(*s.GC, s.Wall)
	if len(lines) == 0 {
		return text + "the collector did not run."
	}
	return text + strings.Join(append([]string{fmt.Sprintf("the collector took %.1f%% of the processor time.", 100*s.GC.CPU.Seconds()/s.CPU)}, lines...), " ")
}

func mib(v float64) string { return fmt.Sprintf("%.0f MiB", v/(1<<20)) }

func lowerFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToLower(s[:1]) + s[1:]
}
