package gccontrol

import (
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/property"
)

// TestRestInPhases has a cache outside the heap that doubles and halves, over a
// second each time: the container's limit holds, and from the second time on the
// heap does not follow: it could not be back in time.
func TestRestInPhases(t *testing.T) {
	property.Check(t, func(t *property.T) {
		limit := t.Float("limit", 512*mb, 4*gb)
		small := t.Float("rest", 0.1, 0.25) * min(limit, gb)
		every := time.Duration(t.Int("every ms", 2000, 10_000)) * time.Millisecond
		ramp := time.Second
		p := costly(t.Float("live", 0.02, 0.15) * limit)
		p.budget, p.reserve, p.hard = always(0.95*limit), 0.025*limit, 0.975*limit
		p.rest = func(d time.Duration) float64 {
			up := min(float64(d%every)/float64(ramp), 1)
			if d/every%2 == 0 {
				if d < every {
					return small
				}
				up = 1 - up
			}
			return small * (1 + up)
		}
		w := simulate(p, Params{}).until(3 * every)
		settled := w.s.Time
		w.until(settled + 12*every)
		if over := w.overHard + w.hard - limit; over > 0 {
			t.Fatalf("%.1f MB above the limit", over/mb)
		}
		// If it did, there were two changes at least each time.
		if changes, _ := w.since(settled); changes > 8 {
			t.Fatalf("%d changes in 12 phases of %v: %v", changes, every, w.changes)
		}
	})
}

// TestRestIsKeptFree looks at what is claimed for the rest: at once what it will
// have taken half a second on, then what it had, for 30 to 60 seconds.
func TestRestIsKeptFree(t *testing.T) {
	var r nonGo
	s := Sample{Budget: gb}
	at := func(d time.Duration, mbs uint64, want float64) {
		t.Helper()
		s.Time, s.NonGo = d, mbs*mb
		r.add(&s)
		if got := r.claim(&s) / mb; got < want-1 || got > want+1 {
			t.Errorf("after %v with %d MB: %.0f MB are kept free, want %.0f", d, mbs, got, want)
		}
	}
	at(10*time.Millisecond, 100, 100)
	at(110*time.Millisecond, 100, 100)
	at(210*time.Millisecond, 120, 220) // 200 MB/s for half a second
	at(230*time.Millisecond, 120, 220) // too early for another rate
	at(330*time.Millisecond, 120, 120)
	at(430*time.Millisecond, 121, 121) // not much
	at(time.Second, 20, 121)
	at(29*time.Second, 20, 121)
	at(31*time.Second, 20, 121)
	at(59*time.Second, 20, 121)
	at(62*time.Second, 20, 20)
	at(93*time.Second, 20, 20)
}

// TestReturn asks when memory is released at once: while the rest grows into the
// budget, where that frees something, and once a second.
func TestReturn(t *testing.T) {
	ask := func(ready, idle, before, after uint64) func(time.Duration) bool {
		r := new(nonGo)
		for i, v := range []uint64{before, before, after} {
			r.add(&Sample{Time: time.Duration(i+1) * 100 * time.Millisecond, Budget: gb, NonGo: v * mb})
		}
		return func(d time.Duration) bool {
			return r.displaces(&Sample{Time: 300*time.Millisecond + d, Budget: gb, NonGo: after * mb, Committed: ready * mb, Releasable: idle * mb})
		}
	}
	displaces := ask(800, 300, 100, 300)
	if !displaces(0) {
		t.Error("nothing is released")
	}
	if displaces(500 * time.Millisecond) {
		t.Error("again after half a second")
	}
	if !displaces(time.Second) {
		t.Error("not again while there is need")
	}
	for what, displaces := range map[string]func(time.Duration) bool{
		"it fits":              ask(100, 50, 100, 120),
		"nothing can be":       ask(800, 1, 100, 300),
		"the rest is as it is": ask(800, 300, 300, 300),
	} {
		if displaces(0) {
			t.Errorf("released though %s", what)
		}
	}
}

// TestNextLook says how long a look may be away: as long as what is spare lasts.
func TestNextLook(t *testing.T) {
	busy := func(s *Sample) Sample { b := *s; b.Allocated -= 100 * mb; return b }
	for _, c := range []struct {
		what string
		s    Sample
		d    Decision
		busy bool
		last time.Duration
		want time.Duration
	}{
		{"plenty", Sample{Hard: 8 * gb, Committed: gb}, Decision{GOGC: 200}, true, Tick, Tick},
		{"plenty, at rest", Sample{Hard: 8 * gb, Committed: gb}, Decision{GOGC: 200}, false, 20 * time.Second, maxTick},
		{"left alone", Sample{Hard: 8 * gb, Committed: gb}, Decision{GOGC: base}, true, Tick, 0},
		{"nothing known", Sample{Committed: gb}, Decision{GOGC: 200}, true, Tick, Tick},
		{"128 MB", Sample{Hard: gb, Committed: gb - 128*mb}, Decision{GOGC: 200}, true, Tick, 250 * time.Millisecond},
		{"128 MB when the heap is full", Sample{Hard: gb, Committed: 100 * mb, Overhead: 10 * mb},
			Decision{GOGC: 200, Goal: gb - 138*mb}, true, Tick, 250 * time.Millisecond},
		{"128 MB of a budget", Sample{Budget: gb, Committed: gb - 128*mb}, Decision{GOGC: 200}, true, Tick, 250 * time.Millisecond},
		{"128 MB, at rest", Sample{Hard: gb, Committed: gb - 128*mb}, Decision{GOGC: 200}, false, 20 * time.Second, 8 * time.Second},
		{"128 MB, left alone", Sample{Hard: gb, Committed: gb - 128*mb}, Decision{GOGC: base}, true, Tick, 250 * time.Millisecond},
		{"nothing", Sample{Hard: gb, Committed: 2 * gb}, Decision{GOGC: 200}, true, Tick, closeTick},
		{"shrinking", Sample{Hard: 8 * gb}, Decision{GOGC: 200, State: Shrinking}, true, Tick, closeTick},
	} {
		c.s.Allocated = gb
		before := c.s
		if c.busy {
			before = busy(&c.s)
		}
		if got := NextLook(c.last, &before, &c.s, &c.d, base); got != c.want {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
