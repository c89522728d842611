package gctune

import (
	"fmt"
	"strconv"

	"github.com/foliomem/folio/internal/base/unit"
)

// log logs what changed, except for audits and small changes.
func (t *Tuner) log(s *Sample, d *Decision) {
	if t.opts.Logf == nil {
		return
	}
	if d.Release {
		t.opts.Logf("gctune: memory outside the Go runtime has grown to %s: releasing free heap memory (the runtime holds %s)",
			unit.Bytes(float64(s.NonGo)), unit.Bytes(float64(s.Committed)))
	}
	was := t.logged
	first := s.Budget != 0 && was.Budget == 0 || t.stats.Wakes == 1
	moved := !d.Audit && (d.GOGC > was.GOGC+was.GOGC/2 || d.GOGC < was.GOGC-was.GOGC/3)
	if !first && d.State == was.State && d.UserGOGC == was.UserGOGC && d.UserLimit == was.UserLimit && !moved {
		return
	}
	if first {
		if s.Budget > 0 {
			t.opts.Logf("gctune: budget %s (%s)", unit.Bytes(float64(s.Budget)), *t.meter.budget.source.Load())
		} else {
			t.opts.Logf("gctune: memory of the machine unknown: no memory limit set, the heap may grow to %d times the live heap", 1+unknownMultiple)
		}
	}
	if d.UserLimit && !was.UserLimit {
		t.opts.Logf("gctune: GOMEMLIMIT set by the user to %s: left alone", limitText(s.MemoryLimit))
	}
	if was.UserLimit && !d.UserLimit {
		t.opts.Logf("gctune: GOMEMLIMIT is back at the tuner's value: tuning it again")
	}
	t.opts.Logf("gctune: %s", describe(s, d, was.GOGC))
	t.logged = *d
}

// describe returns a decision in one line.
func describe(s *Sample, d *Decision, was int) string {
	gogc := gogcText(d.GOGC)
	if was != 0 && was != d.GOGC {
		gogc = gogcText(was) + " -> " + gogc
	}
	head := fmt.Sprintf("%s: GOGC %s, live heap %s", d.State, gogc, unit.Bytes(float64(s.Live)))
	if d.GOGC >= 0 && d.State != Inactive && d.State != Emergency { // in an emergency the memory limit decides
		head += ", may grow to " + unit.Bytes(float64(d.Goal))
	}
	costs := fmt.Sprintf("GC takes %s of CPU time", unit.Percent(d.Cost))
	if d.GOGC != base {
		costs += fmt.Sprintf(" (%s at GOGC=100)", unit.Percent(d.CostAtBase))
	}
	switch d.Reason {
	case NothingKnown:
		return head + ": no GC cycle yet"
	case Costly:
		return head + ": " + costs
	case Cheap:
		return head + ": " + costs + ", nothing to gain"
	case Frequent:
		return head + ": GC cycles would be too frequent; " + costs
	case UserGOGC:
		return head + ": GOGC set by the user: left alone; " + costs
	case BudgetUnmet:
		what := "a peak"
		if d.Growth > 0 {
			what = "a leak? it grows by " + unit.Bytes(d.Growth) + "/s"
		}
		return fmt.Sprintf("%s: exceeds the budget of %s by %s (%s); %s",
			head, unit.Bytes(float64(d.Budget)), unit.Bytes(float64(d.Short)), what, costs)
	}
	return head + ": " + d.Reason.String() + "; " + costs
}

func gogcText(v int) string {
	if v < 0 {
		return "off"
	}
	return strconv.Itoa(v)
}

func limitText(v int64) string {
	if v >= 1<<62 {
		return "none"
	}
	return unit.Bytes(float64(v))
}
