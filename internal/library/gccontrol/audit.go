package gccontrol

import (
	"math"
	"time"
)

// audit compares two settings by trying them in turn: A, B, A again. What the
// two halves of A differ by is the noise that B is judged against, so a program
// that changes meanwhile leads to no verdict rather than to a wrong one.
//
// The model knows what the GC costs; an audit finds what it cannot know:
// that a larger heap costs faults and caches more than it saves.
type audit struct {
	since time.Duration // of the last audit, or of the change that calls for one
	next  time.Duration // not before
	pause time.Duration // until the one after

	phase   int     // 0 when none is going on, else which setting is being tried
	a, b    float64 // growth between two GC cycles
	began   time.Duration
	skip    uint64 // the phase is measured from this GC cycle on
	from    Sample
	model   estimate
	results [3]result
	streak  int // verdicts for b in a row
	up      bool
}

// result is what a unit of the program's work took: of its own count where it
// has one, else of allocated bytes.
type result struct{ cpu, wall float64 }

const (
	firstAudit  = 2 * time.Second
	maxPause    = 10 * time.Minute
	phaseCycles = 4
	phaseTime   = 200 * time.Millisecond
	auditTime   = time.Minute // it has failed if it takes longer
	auditCost   = 0.005       // share of the time that all of them may cost
)

// rest puts the next audit off, and forgets one that is going on.
func (a *audit) wait(now, pause time.Duration) {
	*a = audit{since: now, next: now + pause, pause: pause, up: a.up}
}

// growth is what is being tried.
func (a *audit) growth() float64 {
	if a.phase == 2 {
		return a.b
	}
	return a.a
}

// review begins an audit, or takes the one that is going on a step further.
func (c *Controller) review(s *Sample, r room) {
	a := &c.audit
	normal := growth(base, s.Live, s.Scan)
	if !c.spending || c.userGOGC || c.unmet {
		a.wait(s.Time, max(a.pause, firstAudit))
		return
	}
	if a.phase != 0 {
		fits := r.growth >= 0.9*max(a.a, a.b)
		if !fits || c.est.differs(&a.model) || s.Time-a.began > auditTime {
			a.postpone(s.Time)
			return
		}
		c.step(s)
		return
	}
	if s.Time < a.next || s.Time-c.asked.changed < time.Second {
		return
	}
	h := min(c.grow, r.growth)
	b := max(h/2, normal)
	// Above a ceiling that was found, look both ways in turn.
	if c.ceiling > 0 && a.up {
		b = 2 * h
	}
	if b > 0.75*h && b < 1.5*h || b > r.growth {
		a.up = !a.up
		a.postpone(s.Time)
		return
	}
	// What it costs to try is a small part of the time between two audits.
	seconds := 2 * phaseCycles * (h + b) / max(c.est.rate, 1)
	if seconds > auditTime.Seconds() {
		// It would not end in time, and half of the memory would have served nothing.
		a.postpone(s.Time)
		return
	}
	if loss := c.est.share(b) - c.est.share(h); (s.Time - a.since).Seconds() < seconds*loss/auditCost {
		return
	}
	*a = audit{since: a.since, next: a.next, pause: a.pause, streak: a.streak, up: a.up,
		phase: 1, a: h, b: b, began: s.Time, skip: s.Cycles, from: *s, model: c.est}
}

// step ends the phase when it has seen enough.
func (c *Controller) step(s *Sample) {
	a := &c.audit
	if a.from.Cycles < a.skip {
		if s.Cycles >= a.skip {
			a.from = *s
		}
		return
	}
	cycles, elapsed := sub(s.Cycles, a.from.Cycles), s.Time-a.from.Time
	if cycles < phaseCycles || elapsed < phaseTime {
		return
	}
	res, ok := measured(&a.from, s)
	if !ok {
		a.postpone(s.Time)
		return
	}
	a.results[a.phase-1] = res
	if a.phase < 3 {
		// The GC cycle that is under way still has the old goal, and the
		// first with a new one has memory to get used to.
		a.phase++
		a.from, a.skip = *s, s.Cycles+2
		return
	}
	predicted := a.model.share(a.b) - a.model.share(a.a)
	if !better(a.results, predicted) {
		a.streak = 0
		a.up = !a.up
		a.postpone(s.Time)
		return
	}
	if a.streak++; a.streak < 2 {
		// Luck decides one comparison at times, hardly ever two.
		next := *a
		a.wait(s.Time, 0)
		a.streak, a.pause = next.streak, next.pause
		return
	}
	c.grow, c.learned = a.b, c.est
	c.ceiling, c.why = a.b, NoGain
	a.wait(s.Time, firstAudit)
}

// postpone ends an audit without a change. The longer nothing is found, the
// rarer they are.
func (a *audit) postpone(now time.Duration) {
	pause := min(max(2*a.pause, firstAudit), maxPause)
	a.wait(now, pause)
}

// measured is what a unit of work took between two samples.
func measured(from, to *Sample) (result, bool) {
	units := float64(sub(to.Allocated, from.Allocated))
	if to.HasWork && from.HasWork {
		units = float64(sub(to.Work, from.Work))
	}
	cpu, wall := (to.CPU - from.CPU).Seconds(), (to.Time - from.Time).Seconds()
	if units <= 0 || cpu <= 0 || wall <= 0 {
		return result{}, false
	}
	r := result{cpu: cpu / units}
	if to.HasWork {
		r.wall = wall / units
	}
	return r, true
}

// better reports whether B is to be preferred, when the model predicts that work
// takes more by the fraction predicted with it (less where it is negative): the
// larger heap has to show at least a quarter of what it should bring, beyond the
// noise, and the smaller one gets it otherwise.
func better(r [3]result, predicted float64) bool {
	loss, ok := change(r[0].cpu, r[1].cpu, r[2].cpu)
	if !ok {
		return false
	}
	// A server that is not busy does the same work whatever its GC costs, and
	// one that waits for its GC burns no more: the worse of both counts.
	if wall, ok := change(r[0].wall, r[1].wall, r[2].wall); ok {
		loss = max(loss, wall)
	}
	return loss < predicted/4
}

// change is by which fraction b is above the mean of a1 and a2, with the doubt
// between these on top.
func change(a1, b, a2 float64) (float64, bool) {
	a := (a1 + a2) / 2
	if !(a > 0) {
		return 0, false
	}
	return b/a - 1 + math.Abs(a1-a2)/a, true
}

// differs reports whether the program has changed its ways.
func (e *estimate) differs(from *estimate) bool {
	apart := func(a, b float64) bool { return a > 2*b || b > 2*a }
	return apart(e.mark, from.mark) || apart(e.mutator, from.mutator)
}
