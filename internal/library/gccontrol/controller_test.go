package gccontrol

import (
	"math"
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/property"
)

// costly is a program that allocates much beside a live heap that is dear to
// mark: at GOGC=100, the GC takes a fifth of its time.
func costly(live float64) program {
	return program{live: always(live), perByte: 0.25e-9, budget: always(100 * gb)}
}

// someParams draws parameters that a user may set.
func someParams(t *property.T) Params {
	if t.Bool("default parameters") {
		return Params{}
	}
	leave := t.Float("leave", 0.005, 0.1)
	return Params{
		Threshold: leave, Target: leave * t.Float("target", 0.2, 1),
		MaxCost:  t.Float("most", 0.1, 0.4),
		MinCycle: time.Duration(t.Int("cycle ms", 1, 200)) * time.Millisecond,
		Floor:    t.Int("floor", 1, 40),
		Ceiling:  t.Int("ceiling", 200, 100_000),
	}
}

func TestLeavesCheapProgramsAlone(t *testing.T) {
	property.Check(t, func(t *property.T) {
		p := program{
			live:   always(t.Float("live", 8*mb, 4*gb)),
			budget: always(16 * gb),
			// Less than 2% at GOGC=100.
			perByte: t.Float("mark", 0, 0.0195e-9),
			procs:   1,
		}
		// GC cycles that follow each other fast are not cheap: keep them rare.
		p.busy = 1
		p.mutator = func(float64) float64 { return 4e-9 }
		w := simulate(p, Params{}).cycles(60)
		if len(w.changes) > 0 || w.d.State != Inactive {
			t.Fatalf("%d changes, %v: %v", len(w.changes), w.d.State, w.changes)
		}
	})
}

// TestSettles is the promise for a steady program: a second and 12 GC cycles on, the
// growth is what makes the GC cost its target, or what fits.
func TestSettles(t *testing.T) {
	property.Check(t, func(t *property.T) {
		live := t.Float("live", 1*mb, 2*gb)
		p := program{
			live: always(live), perByte: t.Float("mark", 0.05e-9, 0.8e-9),
			perCycle: t.Float("fixed", 0, 1e-3),
			budget:   always(32*mb + live*t.Float("budget", 2.5, 60)),
			scan:     uint64(t.Int("scan", 0, 4*mb)),
		}
		params := someParams(t)
		full := params.withDefaults()
		leave, target := full.shares(false)
		most := target * raiseBand
		w := simulate(p, params).until(time.Second).cycles(12)
		settled := w.s.Time
		if cost := w.d.Cost; cost > most && (w.d.State != Inactive ||
			cost > leave) && w.d.Reason != BudgetBound && w.d.Reason != CeilingBound && !w.d.Audit {
			t.Fatalf("a second and 12 GC cycles on it costs %.3f, %v because %v", cost, w.d.State, w.d.Reason)
		}
		w.until(settled + 2*time.Minute)
		changes, audits := w.since(settled)
		// Each audit takes two changes, each is rarer than the one before; the
		// band that a change has to leave may be passed once more.
		if changes > 2 || audits > 24 {
			t.Fatalf("%d changes and %d of audits after %v: %v", changes, audits, settled, w.changes)
		}
		if w.worst > 0 {
			t.Fatalf("%.0f MB above the budget", w.worst/mb)
		}
	})
}

// TestUsesWhatIsThere has budgets that are too small for the target: all of them is
// used then.
func TestUsesWhatIsThere(t *testing.T) {
	property.Check(t, func(t *property.T) {
		live := t.Float("live", 32*mb, 2*gb)
		budget := live * t.Float("budget", 3, 8)
		p := costly(live)
		p.budget = always(budget)
		w := simulate(p, Params{}).cycles(30)
		if w.d.Audit {
			return
		}
		used := w.goal() + float64(w.s.Overhead+w.s.NonGo)
		if used < 0.85*budget || used > budget {
			t.Fatalf("%.0f of %.0f MB used, %v because %v", used/mb, budget/mb, w.d.State, w.d.Reason)
		}
		if w.d.Reason != BudgetBound {
			t.Fatalf("%v because %v", w.d.State, w.d.Reason)
		}
	})
}

// TestTinyHeap is the source of the whole idea: many processors, hardly anything
// live, and thousands of GC cycles a second that the account says cost little.
func TestTinyHeap(t *testing.T) {
	p := program{
		live: always(0.5 * mb), perCycle: 40e-6, procs: 6, budget: always(8 * gb),
		mutator: func(float64) float64 { return 5e-9 },
	}
	w := simulate(p, Params{})
	w.until(time.Second)
	gap := w.growth() * w.mutator(0) / w.procs
	if gap < 0.11 {
		t.Errorf("a GC cycle every %.1f ms, %v because %v", 1e3*gap, w.d.State, w.d.Reason)
	}
	if w.d.State != Spending || w.d.Reason != Frequent {
		t.Errorf("%v because %v, want spending because of the frequency", w.d.State, w.d.Reason)
	}
}

// TestChangingPrograms lets live heap, rest and budget change as they like, within
// bounds that leave room, and looks at every step that the budget is kept.
func TestChangingPrograms(t *testing.T) {
	property.Check(t, func(t *property.T) {
		const budget = 4 * gb
		steps := make([]float64, t.Int("steps", 4, 12))
		for i := range steps {
			steps[i] = t.Float("live", 1*mb, 1.4*gb)
		}
		every := time.Duration(t.Int("every ms", 100, 20000)) * time.Millisecond
		ramp := t.Bool("ramp")
		p := program{
			perByte: t.Float("mark", 0.05e-9, 1e-9),
			budget:  always(budget), hard: 4.4 * gb,
			live: func(t time.Duration) float64 {
				i := int(t / every)
				a, b := steps[i%len(steps)], steps[(i+1)%len(steps)]
				if !ramp {
					return a
				}
				f := float64(t%every) / float64(every)
				return a + f*(b-a)
			},
		}
		w := simulate(p, someParams(t)).until(60 * time.Second)
		if w.worst > 0 || w.overHard > 0 {
			t.Fatalf("%.1f MB above the budget, %.1f above the hard limit", w.worst/mb, w.overHard/mb)
		}
		// Never more than ten a second, whatever happens, but for what must
		// shrink at once.
		if n := len(w.changes); n > 600+int(w.s.Cycles) {
			t.Fatalf("%d changes in a minute", n)
		}
	})
}

// TestBudgetLowered is a container whose limit is lowered while it runs, and
// memory outside the heap that grows: by the next look, room is made.
func TestBudgetLowered(t *testing.T) {
	property.Check(t, func(t *property.T) {
		at := 20 * time.Second
		before, after := 8.0*gb, t.Float("after", 0.9*gb, 8*gb)
		shift := func(d time.Duration) float64 {
			if d < at {
				return before
			}
			return after
		}
		p := costly(300 * mb)
		p.budget = shift
		if t.Bool("by the rest of the process") {
			p.budget = always(before)
			p.rest = func(d time.Duration) float64 { return 8*mb + before - shift(d) }
		}
		w := simulate(p, someParams(t))
		// The controller looks once a second at least, and the GC cycle that makes
		// room takes a moment.
		w.grace = [2]time.Duration{at, at + 2*time.Second}
		w.until(60 * time.Second)
		if w.worst > 0 {
			t.Fatalf("%.1f MB above the budget", w.worst/mb)
		}
	})
}

// TestNearTheLimit approaches a limit with the live heap: the cost of the GC
// stays bounded for as long as the hard limit allows, without a jump, and the
// budget's being short is reported.
func TestNearTheLimit(t *testing.T) {
	const budget, hard = 900 * mb, 980 * mb
	p := program{perByte: 0.08e-9, budget: always(budget), hard: hard, rest: always(10 * mb)}
	last, short := 0.0, false
	for live := 300.0 * mb; live < 860*mb; live += 5 * mb {
		p.live = always(live)
		w := simulate(p, Params{}).cycles(40)
		if w.overHard > 0 {
			t.Errorf("%.0f MB live: %.1f MB above the hard limit", live/mb, w.overHard/mb)
		}
		cost := w.cost()
		if room := hard - live - 15*mb - float64(w.s.Overhead); room*0.97 > w.c.floor(&w.s) && cost > 0.27 {
			t.Errorf("%.0f MB live: collection costs %.2f, %v", live/mb, cost, w.d.State)
		}
		if cost-last > 0.08 && last > 0 && cost < 0.5 {
			t.Errorf("%.0f MB live: the cost jumps from %.2f to %.2f", live/mb, last, cost)
		}
		last = cost
		if short && w.d.Short == 0 {
			t.Errorf("%.0f MB live: the budget is met again", live/mb)
		}
		short = w.d.Short > 0
		if short && w.d.State != Emergency {
			t.Errorf("%.0f MB live: short by %d, but %v", live/mb, w.d.Short, w.d.State)
		}
	}
	if !short {
		t.Error("the budget was never short")
	}
}

// TestNoGain has programs that suffer from large heaps, by caches and faults: the
// growth ends up where the program is within 8% of its best.
func TestNoGain(t *testing.T) {
	property.Check(t, func(t *property.T) {
		knee := t.Float("knee", 30*mb, 600*mb)
		slope := t.Float("slope", 0.05, 0.3)
		p := costly(20 * mb)
		p.perByte = 1e-9
		p.work = t.Bool("throughput")
		p.mutator = func(h float64) float64 {
			return 1e-9 * (1 + slope*math.Max(math.Log2(h/knee), 0))
		}
		total := func(h float64) float64 { return p.mutator(h) + p.perByte*20*mb/h }
		best := math.Inf(1)
		for h := 20.0 * mb; h < 4*gb; h *= 1.02 {
			best = min(best, total(h))
		}
		w := simulate(p, Params{}).until(5 * time.Minute)
		h := w.c.grow
		if loss := total(h)/best - 1; loss > 0.08 {
			t.Fatalf("growth %.0f MB is %.1f%% worse than the best; %v because %v", h/mb, 100*loss, w.d.State, w.d.Reason)
		}
	})
}

// TestNoise makes every step of the program take another time: verdicts of audits
// must not take away what is well spent.
func TestNoise(t *testing.T) {
	property.Check(t, func(t *property.T) {
		seed := t.Uint("seed", 0, math.MaxUint64)
		p := costly(100 * mb)
		p.noise = func() float64 { // between 0.8 and 1.2
			seed = seed*6364136223846793005 + 1442695040888963407
			return 0.8 + 0.4*float64(seed>>40)/(1<<24)
		}
		w := simulate(p, Params{}).until(3 * time.Minute)
		if cost := w.c.est.share(w.c.grow); cost > 0.045 {
			t.Fatalf("collection costs %.3f, %v because %v", cost, w.d.State, w.d.Reason)
		}
		if changes, audits := w.since(0); changes > 30 || audits > 60 {
			t.Fatalf("%d changes, %d of audits", changes, audits)
		}
	})
}
