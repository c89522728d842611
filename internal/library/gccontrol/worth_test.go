package gccontrol

import (
	"math"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/property"
)

// TestWorth has programs that nothing limits: memory and CPU time together cost hardly more
// than at the best growth, whatever the program and the price.
func TestWorth(t *testing.T) {
	checked := 0
	property.Check(t, func(t *property.T) {
		live := t.Float("live", 16*mb, 4*gb)
		perCPU := t.Float("memory per CPU", 1*gb, 64*gb)
		p := costly(live)
		p.open, p.budget = true, always(1000*gb)
		p.perByte = t.Float("mark", 0.05e-9, 0.8e-9)
		p.busy = t.Float("busy", 0.2, 1)
		w := simulate(p, Params{MemoryPerCPU: uint64(perCPU)}).until(10 * time.Second).cycles(20)
		if w.c.audit.phase != 0 || w.d.State == Inactive {
			return // a comparison of two settings; a program that is left alone
		}
		est := w.c.est
		price := func(h float64) float64 { return est.mark*est.rate/h + h/perCPU } // CPUs
		least := max(growth(base, w.s.Live, w.s.Scan), est.rate*calmCycles*0.02)
		// More than what brings GC to its target is never spent.
		best, most := least, max(est.growthFor(0.01), least)
		for h := least; h < most; h *= 1.01 {
			if price(h) < price(best) {
				best = h
			}
		}
		checked++
		if h := w.c.grow; price(h) > 1.06*price(best) && h > raiseBand*best {
			t.Fatalf("growth %.0f MB, best %.0f MB: %.4f CPUs instead of %.4f", h/mb, best/mb, price(h), price(best))
		}
		if h := w.c.grow; h < best/raiseBand/1.05 {
			t.Fatalf("growth %.0f MB, worth is %.0f MB: %v because %v", h/mb, best/mb, w.d.State, w.d.Reason)
		}
	})
	if checked < 5 {
		t.Errorf("%d programs were looked at", checked)
	}
}

// TestCurve is a full-text index as it was measured: 180 MB live, GC 26% of its CPU time at
// GOGC=100. What lies between the bound and the target of 1% would save little: without a
// limit it is not bought, within one it is.
func TestCurve(t *testing.T) {
	run := func(perCPU uint64, open bool) (memory, cpu float64, w *world) {
		p := costly(180 * mb)
		p.open, p.budget = open, always(16*gb)
		p.busy = 0.75 // of two CPUs
		p.mutator = func(float64) float64 { return 3.4e-9 }
		p.perByte = 1.2e-9
		w = simulate(p, Params{MemoryPerCPU: perCPU}).until(20 * time.Second).cycles(10)
		h := w.growth()
		return w.goal() + w.overhead(), p.mutator(h) + w.markCost()/h, w
	}
	atDefault := 180.0 * mb * 2.06
	memory, cpu, w := run(0, true)
	all, least, _ := run(math.MaxUint64, true)
	within, _, limited := run(0, false)
	if w.d.State != Spending || w.d.Reason != PriceBound {
		t.Errorf("%v because %v", w.d.State, w.d.Reason)
	}
	if memory > 3*atDefault || cpu > 1.12*least {
		t.Errorf("%.0f MB for %.3f of the least CPU time; %.0f MB by default", memory/mb, cpu/least, atDefault/mb)
	}
	if all < 5*atDefault || math.Abs(within-all) > 0.1*all || limited.d.Reason == PriceBound {
		t.Errorf("%.0f MB without a bound, %.0f MB within a limit (%v)", all/mb, within/mb, limited.d.Reason)
	}
	t.Logf("bound: %.0f MB, CPU time %.3f of the least; no bound: %.0f MB", memory/mb, cpu/least, all/mb)
	// A higher price never buys more.
	last := math.Inf(1)
	for _, per := range []uint64{64 * gb, 16 * gb, 8 * gb, 4 * gb, 2 * gb, 1 * gb} {
		m, c, _ := run(per, true)
		t.Logf("%2d GiB for a CPU: %5.0f MB, CPU time %.3f of the least", per/gb, m/mb, c/least)
		if m > last {
			t.Errorf("at %d GiB for a CPU: %.0f MB, more than for a higher price: %.0f MB", per/gb, m/mb, last/mb)
		}
		last = m
	}
}
