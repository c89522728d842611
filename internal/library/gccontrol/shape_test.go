package gccontrol

import (
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/property"
)

// TestBursts has a program that works in bursts: what a burst needs is there at
// the next one, and a pause is not a reason to begin anew.
func TestBursts(t *testing.T) {
	property.Check(t, func(t *property.T) {
		live := t.Float("live", 16*mb, 1*gb)
		period := time.Duration(t.Int("period ms", 200, 10_000)) * time.Millisecond
		share := t.Float("busy part", 0.1, 0.9)
		p := costly(live)
		p.perByte = t.Float("mark", 0.05e-9, 0.5e-9)
		p.pace = func(d time.Duration) float64 {
			if float64(d%period) < share*float64(period) {
				return 1
			}
			return 0.02
		}
		w := simulate(p, Params{}).until(time.Minute).cycles(12)
		settled := w.s.Time
		if cost := w.c.est.share(w.c.grow); cost > 0.02 {
			t.Fatalf("after a minute of bursts collection costs %.3f, %v because %v", cost, w.d.State, w.d.Reason)
		}
		w.until(settled + 4*time.Minute)
		if changes, audits := w.since(settled); changes > 12 || audits > 40 {
			t.Fatalf("%d changes and %d of audits in four minutes: %v", changes, audits, w.changes)
		}
	})
}

// TestShrinking has a live heap that falls: within half a minute the heap is no
// larger than what is live now calls for.
func TestShrinking(t *testing.T) {
	property.Check(t, func(t *property.T) {
		const at = 20 * time.Second
		before := t.Float("before", 200*mb, 2*gb)
		after := before / t.Float("falls by", 4, 40)
		p := costly(before)
		p.live = func(d time.Duration) float64 {
			if d < at {
				return before
			}
			return after
		}
		w := simulate(p, Params{}).until(at + 30*time.Second).cycles(20)
		alone := simulate(costly(after), Params{}).until(30 * time.Second).cycles(20)
		if w.c.grow > 1.5*alone.c.grow {
			t.Fatalf("%.0f MB between GC cycles, where a program that never was larger has %.0f; %v because %v",
				w.c.grow/mb, alone.c.grow/mb, w.d.State, w.d.Reason)
		}
	})
}

// TestReserve has the live heap jump within a container: the hard limit holds
// though GOGC knows of it only after the GC cycle, and GOGC keeps to the budget
// whatever the reserve.
func TestReserve(t *testing.T) {
	property.Check(t, func(t *property.T) {
		limit := t.Float("limit", 256*mb, 8*gb)
		small := t.Float("small", 0.02, 0.3) * limit
		large := t.Float("large", 0.3, 0.65) * limit
		every := time.Duration(t.Int("every ms", 300, 8000)) * time.Millisecond
		p := program{
			// Not so dear that the runtime's own bound on its cost exceeds the limit.
			perByte: t.Float("mark", 0.02e-9, 0.15e-9),
			budget:  always(0.95 * limit), reserve: 0.025 * limit, hard: 0.975 * limit,
			live: func(d time.Duration) float64 {
				if d/every%2 == 0 {
					return small
				}
				return large
			},
		}
		w := simulate(p, Params{})
		for w.s.Time < 30*time.Second {
			w.cycle()
			if w.d.GOGC > base && w.d.State != Emergency {
				if used := float64(w.d.Goal) + w.c.overhead + float64(w.s.NonGo); used > 0.95*limit*fitBand {
					t.Fatalf("GOGC %d leads to %.0f MB of %.0f", w.d.GOGC, used/mb, limit/mb)
				}
			}
			if most := float64(w.s.Hard) - float64(w.s.NonGo); float64(w.d.MemoryLimit) > most*1.02 {
				t.Fatalf("memory limit %d MB, %.0f MB are left", w.d.MemoryLimit/mb, most/mb)
			}
		}
		if w.overHard > 0 {
			t.Fatalf("%.1f MB above the hard limit of %.0f", w.overHard/mb, w.hard/mb)
		}
	})
}

// TestPressureIsNamed tells what memory pressure has found from what an audit has.
func TestPressureIsNamed(t *testing.T) {
	w := simulate(costly(100*mb), Params{}).until(20 * time.Second)
	w.s.Pressure = 0.3
	w.until(25 * time.Second)
	w.s.Pressure = 0
	w.until(30 * time.Second)
	if w.d.State != Holding || w.d.Reason != Pressure {
		t.Errorf("after the pressure: %v because %v", w.d.State, w.d.Reason)
	}
}

// TestUsesABudgetInPhases has a live heap that grows by up to twice and shrinks
// again under a budget that binds in both phases: the heap is as large in both. A heap that grows and
// shrinks with its phases has all that it gave up to fault in again.
func TestUsesABudgetInPhases(t *testing.T) {
	property.Check(t, func(t *property.T) {
		small := t.Float("small", 64*mb, 512*mb)
		budget := small * t.Float("budget", 5, 8)
		every := time.Duration(t.Int("every ms", 500, 8000)) * time.Millisecond
		times := t.Float("grows by", 1, 2)
		p := costly(small)
		p.perByte = t.Float("mark", 0.2e-9, 0.6e-9)
		p.budget = always(budget)
		p.live = func(d time.Duration) float64 {
			if d/every%2 == 0 {
				return small
			}
			return times * small
		}
		w := simulate(p, Params{}).until(2 * every).cycles(10)
		least := budget
		for range 60 {
			audited := w.d.Audit // the goal of the cycle after an audit is the audit's
			w.cycle()
			if !audited && !w.d.Audit {
				least = min(least, w.goal())
			}
		}
		if least < 0.86*budget-10*mb {
			t.Fatalf("a heap of %.0f MB in a budget of %.0f", least/mb, budget/mb)
		}
		if w.worst > 0 {
			t.Fatalf("%.1f MB above the budget", w.worst/mb)
		}
	})
}
