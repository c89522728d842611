package gccontrol

import (
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/property"
)

// TestServers has servers that wait for requests most of the time: within a limit GC takes
// 0.25%, or the budget is used; without one 1%, as in any program.
func TestServers(t *testing.T) {
	property.Check(t, func(t *property.T) {
		p := costly(t.Float("live", 32*mb, 512*mb))
		p.perByte = t.Float("mark", 0.1e-9, 0.5e-9)
		p.busy = t.Float("busy", 0.05, 0.5)
		p.open = t.Bool("open")
		if t.Bool("small budget") {
			p.budget = always(8 * p.live(0))
		}
		w := simulate(p, Params{MemoryPerCPU: 1 << 62}).until(10 * time.Second).cycles(16)
		if w.d.Audit {
			return
		}
		least, most := 0.0025/raiseBand/1.1, 0.0025*raiseBand
		if p.open {
			least, most = 0.01/raiseBand/1.1, 0.01*raiseBand
		}
		if cost := w.cost(); cost > most && w.d.Reason != BudgetBound || cost < least {
			t.Fatalf("GC takes %.4f, want %.4f to %.4f: %v because %v", cost, least, most, w.d.State, w.d.Reason)
		}
		if w.worst > 0 {
			t.Fatalf("%.0f MB above the budget", w.worst/mb)
		}
	})
}

// TestLoadBegins has a program that is busy, waits, and is busy again: the growth follows,
// within seconds when the load falls.
func TestLoadBegins(t *testing.T) {
	p := costly(100 * mb)
	p.pace = func(d time.Duration) float64 {
		if d > 20*time.Second && d < 80*time.Second {
			return 0.2
		}
		return 1
	}
	at := func(end time.Duration) (float64, bool) {
		w := simulate(p, Params{}).until(end)
		return w.c.grow, w.c.load.waits
	}
	busy, waits := at(19 * time.Second)
	if waits {
		t.Error("waits while it is busy")
	}
	later, waits := at(30 * time.Second)
	if !waits || later < 3.5*busy {
		t.Errorf("%.0f MB between GC cycles of a program that waits, %.0f MB while it was busy", later/mb, busy/mb)
	}
	if again, waits := at(400 * time.Second); waits || again > 1.3*busy {
		t.Errorf("%.0f MB between GC cycles when it is busy again, %.0f MB before", again/mb, busy/mb)
	}
}

// TestLoadUnknown has samples that do not say how many CPUs there are: such a program is busy.
func TestLoadUnknown(t *testing.T) {
	var l load
	for i := range 100 {
		if l.add(&Sample{Time: time.Duration(i) * time.Second}) || l.waits {
			t.Fatal("waits")
		}
	}
	for i := range 100 {
		l.add(&Sample{Time: time.Duration(100+i) * time.Second, CPUs: 4})
	}
	if !l.waits {
		t.Error("does not wait, idle for 100 seconds")
	}
}

// TestCheapServers has programs whose GC takes 1% of CPU time at GOGC=100: too little for one that
// is busy, or that nothing limits, and too much for the tail of a server.
func TestCheapServers(t *testing.T) {
	for _, c := range []struct {
		name string
		busy float64
		open bool
		want State
	}{
		{"waits within a limit", 0.3, false, Spending},
		{"waits without a limit", 0.3, true, Inactive},
		{"busy within a limit", 0.95, false, Inactive},
	} {
		p := costly(200 * mb)
		p.perByte, p.busy, p.open = 0.01e-9, c.busy, c.open
		w := simulate(p, Params{}).until(30 * time.Second).cycles(8)
		if w.d.State != c.want || c.want == Spending && (w.d.Reason != Costly || w.cost() > 0.0025*raiseBand) {
			t.Errorf("%s: %v because %v, GC takes %.4f", c.name, w.d.State, w.d.Reason, w.cost())
		}
	}
}
