package gctune

import (
	"fmt"
	"strconv"

	"github.com/foliomem/folio/internal/unit"
)

// log tells what changed, in words. Audits and small changes are not worth a
// line.
func (t *Tuner) log(s *Sample, d *Decision) {
	if t.opts.Logf == nil {
		return
	}
	if d.Return {
		t.opts.Logf("gctune: what lies outside the heap has grown to %s: the heap, with %s, gives back what it does not need", unit.Bytes(float64(s.Rest)), unit.Bytes(float64(s.Ready)))
	}
	was := t.logged
	first := s.Budget != 0 && was.Budget == 0 || t.stats.Wakes == 1
	moved := !d.Audit && (d.GOGC > was.GOGC+was.GOGC/2 || d.GOGC < was.GOGC-was.GOGC/3)
	if !first && d.State == was.State && d.UserGOGC == was.UserGOGC && d.UserLimit == was.UserLimit && !moved {
		return
	}
	if first {
		if s.Budget > 0 {
			t.opts.Logf("gctune: the budget is %s (%s)", unit.Bytes(float64(s.Budget)), *t.meter.budget.source.Load())
		} else {
			t.opts.Logf("gctune: it is unknown how much memory there is: no memory limit is set, and the heap may grow to %d times what is live", 1+unknownMultiple)
		}
	}
	if d.UserLimit && !was.UserLimit {
		t.opts.Logf("gctune: GOMEMLIMIT was set by the user, to %s: it is left alone", limitText(s.MemoryLimit))
	}
	if was.UserLimit && !d.UserLimit {
		t.opts.Logf("gctune: GOMEMLIMIT is as it was before: the tuner sets it again")
	}
	t.opts.Logf("gctune: %s", describe(s, d, was.GOGC))
	t.logged = *d
}

// describe is a decision in one line.
func describe(s *Sample, d *Decision, was int) string {
	gogc := gogcText(d.GOGC)
	if was != 0 && was != d.GOGC {
		gogc = gogcText(was) + " -> " + gogc
	}
	head := fmt.Sprintf("%s: GOGC %s, live heap %s", d.State, gogc, unit.Bytes(float64(s.Live)))
	if d.GOGC >= 0 && d.State != Resting && d.State != Emergency { // in an emergency the memory limit decides
		head += ", may grow to " + unit.Bytes(float64(d.Goal))
	}
	costs := fmt.Sprintf("collection takes %s of the processor time", unit.Percent(d.Cost))
	if d.GOGC != base {
		costs += fmt.Sprintf(", with GOGC=100 it would be %s", unit.Percent(d.CostAtBase))
	}
	switch d.Reason {
	case NothingKnown:
		return head + ": nothing was collected yet"
	case Costly:
		return head + ": " + costs
	case Cheap:
		return head + ": " + costs + ": nothing to gain"
	case Frequent:
		return head + ": collections would follow each other too fast; " + costs
	case UserGOGC:
		return head + ": GOGC was set by the user and is left alone; " + costs
	case BudgetUnmet:
		what := "peak"
		if d.Growth > 0 {
			what = "leak, it seems: it grows by " + unit.Bytes(d.Growth) + "/s"
		}
		return fmt.Sprintf("%s: it does not fit into the budget of %s, which is %s short (a %s); %s",
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
