package gctune

import (
	"fmt"

	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/library/gccontrol"
)

// log logs what changed, except for audits and small changes.
func (t *Tuner) log(s *gccontrol.Sample, d *gccontrol.Decision) {
	if t.opts.Log == nil {
		return
	}
	if d.Release {
		t.info("memory outside the Go runtime has grown to %s: releasing free heap memory (the runtime holds %s)",
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
			t.info("budget %s (%s)", unit.Bytes(float64(s.Budget)), *t.meter.budget.source.Load())
		} else {
			t.info("memory of the machine unknown: no memory limit set, the heap may grow to %d times the live heap", 1+gccontrol.UnknownMultiple)
		}
	}
	if d.UserLimit && !was.UserLimit {
		t.info("GOMEMLIMIT set by the user to %s: left alone", gccontrol.LimitText(s.MemoryLimit))
	}
	if was.UserLimit && !d.UserLimit {
		t.info("GOMEMLIMIT is back at the tuner's value: tuning it again")
	}
	t.info("%s", gccontrol.Describe(s, d, was.GOGC))
	t.logged = *d
}

func (t *Tuner) info(format string, args ...any) {
	t.opts.Log.Info("gctune: " + fmt.Sprintf(format, args...))
}
