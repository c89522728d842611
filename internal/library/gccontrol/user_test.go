package gccontrol

import (
	"math"
	"testing"
	"time"
)

// TestUserGOGC has the user set GOGC while the controller spends, and put it back
// later.
func TestUserGOGC(t *testing.T) {
	p := costly(100 * mb)
	ours, back := 0, false
	p.gogc = func(now time.Duration, have int) int {
		switch {
		case now < 10*time.Second:
		case now < 20*time.Second:
			if ours == 0 {
				ours = have
			}
			return 77
		case !back:
			back = true
			return ours
		}
		return have
	}
	w := simulate(p, Params{}).until(15 * time.Second)
	if ours <= base {
		t.Fatalf("GOGC %d before: nothing was spent", ours)
	}
	if w.d.GOGC != 77 || w.d.State != UserSet || !w.d.UserGOGC || w.d.UserLimit {
		t.Errorf("%+v", w.d)
	}
	w.until(30 * time.Second)
	if w.d.UserGOGC || w.d.GOGC <= base {
		t.Errorf("after the user put it back: %+v", w.d)
	}
}

func TestUserSetBefore(t *testing.T) {
	c := NewController(Params{UserGOGC: true, UserLimit: true})
	s := Sample{GOGC: base, MemoryLimit: 1 << 30, Budget: 4 << 30}
	for i := range 50 {
		s.Time += time.Second
		s.Cycles += 10
		s.CPU += time.Second
		s.GCTime += 400 * time.Millisecond
		s.Allocated += 1 << 30
		s.Live = 100 * mb
		if i == 25 {
			s.GOGC, s.MemoryLimit = -1, math.MaxInt64
		}
		d := c.Next(s)
		if d.GOGC != s.GOGC || d.MemoryLimit != s.MemoryLimit || d.State != UserSet {
			t.Fatalf("%+v for %+v", d, s)
		}
	}
}

// TestUserLimit has the user set a memory limit: GOGC keeps within it.
func TestUserLimit(t *testing.T) {
	const limit = 400 * mb
	c := NewController(Params{UserLimit: true})
	w := &world{program: costly(100 * mb), c: c}
	w.procs, w.busy, w.rest, w.noise = 2, 1, always(0), func() float64 { return 1 }
	w.mutator = func(float64) float64 { return 1e-9 }
	w.s = Sample{GOGC: base, MemoryLimit: limit}
	w.look()
	w.cycles(50)
	g := goal(w.d.GOGC, w.s.Live, w.s.Scan)
	if w.d.MemoryLimit != limit || w.d.GOGC <= base || g > limit {
		t.Errorf("GOGC %d, goal %d MB: %+v", w.d.GOGC, g/mb, w.d)
	}
}

// TestUnknownMemory spends a bounded multiple and sets no limit.
func TestUnknownMemory(t *testing.T) {
	p := costly(200 * mb)
	p.budget = always(0)
	w := simulate(p, Params{}).cycles(50)
	if w.d.MemoryLimit != math.MaxInt64 || w.d.GOGC <= 300 || w.d.GOGC > 400 || w.d.Reason != UnknownMemory {
		t.Errorf("%+v", w.d)
	}
}

func TestLeakAndPeak(t *testing.T) {
	base := program{perByte: 0.1e-9, budget: always(1 * gb), hard: 1.2 * gb}
	leak := base
	leak.live = func(d time.Duration) float64 { return 50*mb + 5*mb*d.Seconds() }
	w := simulate(leak, Params{})
	for w.d.Short == 0 && w.s.Time < 10*time.Minute {
		w.cycle()
	}
	if w.d.State != Emergency || math.Abs(w.d.Growth/(5*mb)-1) > 0.2 {
		t.Errorf("a leak of 5 MB/s: %v, growth %.1f MB/s", w.d.State, w.d.Growth/mb)
	}
	peak := base
	peak.live = func(d time.Duration) float64 {
		if d%(20*time.Second) > 15*time.Second {
			return 900 * mb
		}
		return 50 * mb
	}
	w = simulate(peak, Params{})
	seen := false
	for w.s.Time < 5*time.Minute {
		w.cycle()
		if w.d.Growth > 0 {
			t.Fatalf("after %v a peak looks like a leak of %.1f MB/s", w.s.Time, w.d.Growth/mb)
		}
		seen = seen || w.d.State == Emergency
	}
	if !seen {
		t.Error("the peak was no emergency")
	}
}

// TestPressure takes memory back while threads wait for memory.
func TestPressure(t *testing.T) {
	w := simulate(costly(100*mb), Params{}).until(20 * time.Second)
	before := w.d.Goal
	w.s.Pressure = 0.3
	w.until(60 * time.Second)
	if w.d.Goal > before/4 || w.d.State != Shrinking || w.d.Reason != Pressure {
		t.Errorf("goal %d MB, %d before: %v because %v", w.d.Goal/mb, before/mb, w.d.State, w.d.Reason)
	}
}

// TestForcedCollections has a program that asks for most of its GC cycles: a
// larger heap would not spare them.
func TestForcedCollections(t *testing.T) {
	c := NewController(Params{})
	s := Sample{GOGC: base, MemoryLimit: math.MaxInt64, Budget: 8 << 30}
	for range 50 {
		d := c.Next(s)
		if d.GOGC != base || d.State != Inactive {
			t.Fatalf("%+v", d)
		}
		s.MemoryLimit = d.MemoryLimit
		s.Time += time.Second
		s.Cycles++
		s.Forced++
		s.CPU += time.Second
		s.GCTime += 400 * time.Millisecond
		s.Allocated += 1 << 20
		s.Live = 100 * mb
	}
}

func TestDefaults(t *testing.T) {
	p := (Params{}).withDefaults()
	most, target := p.shares(false)
	mostWaiting, targetWaiting := p.shares(true)
	if most != 0.02 || target != 0.01 || mostWaiting != 0.005 || targetWaiting != 0.0025 || p.MaxCost != 0.25 ||
		p.MinCycle != 20*time.Millisecond || p.Floor != 10 || p.Ceiling != 20000 {
		t.Errorf("%+v", p)
	}
	for s := Inactive; s <= UserSet; s++ {
		if s.String() == "unknown" {
			t.Errorf("state %d has no name", s)
		}
	}
	for r := NothingKnown; r <= UserGOGC; r++ {
		if r.String() == "unknown" {
			t.Errorf("reason %d has no name", r)
		}
	}
}
