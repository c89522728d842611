// Package gccontrol decides on GOGC and on the memory limit of a program that runs: a function
// of samples, without a clock or a runtime of its own, which package gctune gives them.
package gccontrol

import (
	"math"
	"time"
)

// Controller decides on GOGC and the memory limit. It has no clock and does
// nothing by itself: [Controller.Next] turns a sample into a decision. It is not
// safe for use by several goroutines.
type Controller struct {
	p        Params
	started  bool
	est      estimate
	trend    trend
	load     load
	overhead float64 // as Sample.Overhead, the most of late
	nonGo    nonGo
	audit    audit

	window Sample // where the window that is being measured began
	asked  asked

	userGOGC, userLimit bool
	early               struct{ gogc, limit bool } // set before the first sample: for good

	spending bool
	grow     float64 // what is wanted between two GC cycles, in bytes
	ceiling  float64 // found by audits: more buys nothing; 0 for none
	why      Reason  // for the ceiling
	held     bool    // more than the ceiling was wanted
	priced   bool    // more was wanted than is worth its price
	learned  estimate
	calm     calm
	unmet    bool
	squeezed time.Duration // of the last step under memory pressure
}

// asked is what the last decision wanted.
type asked struct {
	gogc    int
	limit   int64
	changed time.Duration // when GOGC was
}

// calm is how long less growth than there is was enough, and how much was.
type calm struct {
	windows int
	since   time.Duration
	most    float64
}

// NewController returns a Controller that has seen nothing yet.
func NewController(p Params) *Controller {
	c := &Controller{p: p.withDefaults()}
	c.early.gogc, c.early.limit = p.UserGOGC, p.UserLimit
	return c
}

const (
	minWindow    = 50 * time.Millisecond
	minInterval  = 100 * time.Millisecond // between two changes of GOGC that are not urgent
	maxStep      = 4                      // times the growth, in one window
	raiseBand    = 1.25                   // differences in growth that are not worth a change
	lowerBand    = 0.7
	auditBand    = 1.05
	budgetBand   = 1.08 // where the budget decides, all of it is used
	fitBand      = 1.05
	calmWindows  = 8 // for so long, and so many windows, less must be enough
	calmTime     = 2 * time.Second
	highPressure = 0.1
	calmCycles   = 6 // times MinCycle between two GC cycles is what memory is spent for
)

// Next returns what should be in force from s on. Samples come in the order of
// their times; the more of them between two GC cycles, the sooner what happens
// outside the heap is noticed.
func (c *Controller) Next(s Sample) Decision {
	if !c.started {
		c.started = true
		c.window = s
		c.asked = asked{gogc: s.GOGC, limit: s.MemoryLimit, changed: s.Time - minInterval}
		c.audit.wait(s.Time, firstAudit)
	}
	// Whoever changes a setting behind our back wants it so. Who puts back
	// what we had set has only borrowed it.
	c.userGOGC = c.early.gogc || s.GOGC != c.asked.gogc
	c.userLimit = c.early.limit || s.MemoryLimit != c.asked.limit

	fresh := c.measure(&s)
	c.hold(&s, fresh)
	c.nonGo.add(&s)
	r := c.roomFor(&s)
	// A load that ends or begins is not known only after the next cycle, which may be a minute off.
	turned := c.load.add(&s)
	if fresh || turned && c.est.windows > 0 {
		c.want(&s)
	}
	if fresh {
		c.squeeze(&s)
		c.review(&s, r)
	}
	d := c.decide(&s, r)
	if !c.userGOGC {
		if d.GOGC != c.asked.gogc {
			c.asked.changed = s.Time
		}
		c.asked.gogc = d.GOGC
	}
	if !c.userLimit {
		c.asked.limit = d.MemoryLimit
	}
	return d
}

// measure closes the window when GC cycles have ended and it is long enough.
func (c *Controller) measure(s *Sample) bool {
	c.trend.add(s.Time, s.Live)
	cycles, elapsed := sub(s.Cycles, c.window.Cycles), s.Time-c.window.Time
	if cycles == 0 || elapsed < minWindow && cycles < 4 || elapsed <= 0 {
		return false
	}
	n := c.est.windows
	c.est.add(&c.window, s)
	c.window = *s
	return c.est.windows > n
}

// want finds how much should be allocated between two GC cycles.
func (c *Controller) want(s *Sample) {
	normal := growth(base, s.Live, s.Scan)
	cost, gap := c.est.share(normal), time.Duration(math.MaxInt64)
	if c.est.rate > 0 {
		gap = time.Duration(min(normal/c.est.rate*1e9, 1e18))
	}
	most, least := c.shares(s)
	quiet := cost < most/2 && gap > 2*c.p.MinCycle
	if !c.spending {
		if cost <= most && gap >= c.p.MinCycle {
			c.grow = normal
			return
		}
		c.spending, c.grow = true, max(normal, 1)
	}
	w := normal
	c.priced = false
	if !quiet {
		w = max(w, c.est.rate*calmCycles*c.p.MinCycle.Seconds())
		if cost > least {
			target, worth := c.est.growthFor(least), c.worth(s)
			c.priced = target > max(w, worth)
			w = max(w, min(target, worth))
		}
	}
	if c.ceiling > 0 && c.est.differs(&c.learned) {
		c.forget(s.Time)
	}
	c.held = c.ceiling > 0 && w > c.ceiling
	if c.held {
		w = max(c.ceiling, normal)
	}
	switch {
	case w > c.grow*raiseBand:
		c.grow = min(w, c.grow*maxStep)
		c.calm = calm{}
	case w >= c.grow*lowerBand:
		c.calm = calm{}
	default:
		// Less is enough. That a burst is over is not a reason yet: the next
		// would have to begin anew.
		if c.calm.windows == 0 {
			c.calm = calm{since: s.Time}
		}
		c.calm.windows++
		c.calm.most = max(c.calm.most, w)
		if c.calm.windows >= calmWindows && s.Time-c.calm.since >= calmTime {
			c.grow = c.calm.most
			c.calm = calm{}
			c.spending = !quiet
		}
	}
}

// limited reports whether the memory that is spent is paid for already.
func (c *Controller) limited(s *Sample) bool { return s.Limited || c.userLimit }

// shares are those of the parameters, for what the program does now.
func (c *Controller) shares(s *Sample) (most, target float64) {
	return c.p.shares(c.load.waits && c.limited(s))
}

// worth is the growth up to which memory saves CPU time that is worth more.
func (c *Controller) worth(s *Sample) float64 {
	perCPU := c.p.MemoryPerCPU
	if perCPU == 0 {
		if c.limited(s) {
			return math.MaxFloat64
		}
		perCPU = memoryPerCPU
	}
	if perCPU == math.MaxUint64 {
		return math.MaxFloat64
	}
	return c.est.growthWorth(float64(perCPU))
}

// squeeze releases memory, step by step, while threads wait for memory.
func (c *Controller) squeeze(s *Sample) {
	if !c.spending || s.Pressure < highPressure || s.Time-c.squeezed < time.Second {
		return
	}
	c.squeezed = s.Time
	c.ceiling, c.learned, c.why = c.grow/2, c.est, Pressure
	c.grow = max(c.grow/2, growth(base, s.Live, s.Scan))
	c.audit.wait(s.Time, maxPause)
}

// forget drops what audits have found: the program is another one now.
func (c *Controller) forget(now time.Duration) {
	c.ceiling = 0
	c.audit.wait(now, firstAudit)
}

// decide puts the settings together and says why they are so.
func (c *Controller) decide(s *Sample, r room) Decision {
	d := Decision{
		GOGC: c.asked.gogc, MemoryLimit: r.limit, UserGOGC: c.userGOGC, UserLimit: c.userLimit,
		Budget: s.Budget, Short: r.short, Growth: c.trend.growth(), Audit: c.audit.phase != 0 && !c.userGOGC,
	}
	normal := growth(base, s.Live, s.Scan)
	d.CostAtBase = c.est.share(normal)
	h := normal
	if c.userGOGC {
		d.GOGC = s.GOGC
	} else {
		if c.spending {
			h = max(c.grow, normal)
			if d.Audit {
				h = max(c.audit.growth(), normal)
			}
		}
		h = min(h, max(r.growth, normal))
		d.GOGC = c.steadyGOGC(s, r, h)
	}
	d.Goal = goal(d.GOGC, s.Live, s.Scan)
	now := growth(d.GOGC, s.Live, s.Scan)
	if r.known {
		now = min(now, max(heapUnder(float64(d.MemoryLimit), c.overhead)-float64(s.Live), 0))
	}
	d.Cost = c.est.share(now)
	d.State, d.Reason = c.explain(s, r, d.GOGC, normal)
	d.Release = c.nonGo.displaces(s)
	return d
}

// steadyGOGC is the GOGC for a growth, or the one there is if that is close to
// it and not too much.
func (c *Controller) steadyGOGC(s *Sample, r room, h float64) int {
	have := c.asked.gogc
	want := gogcFor(h, s.Live, s.Scan, c.p.Ceiling)
	if want == have || have < 0 {
		return want
	}
	// What would not fit must shrink at once. The little by which the overhead
	// varies is not a reason: for that there is the memory limit.
	if float64(goal(have, s.Live, s.Scan)) > r.goal*fitBand && want < have {
		return want
	}
	if s.Time-c.asked.changed < minInterval {
		return have
	}
	band := raiseBand
	switch {
	case c.audit.phase != 0:
		band = auditBand
	case r.known && c.spending && c.grow > r.growth:
		band = budgetBand
	}
	ratio := h / max(growth(have, s.Live, s.Scan), 1)
	if want != base && ratio < band && ratio > 1/band {
		return have
	}
	return want
}

// explain names the state. Emergencies end only when there is clearly room
// again, so that a state does not flicker.
func (c *Controller) explain(s *Sample, r room, gogc int, normal float64) (State, Reason) {
	if r.known {
		c.unmet = r.short > 0 || c.unmet && r.growth < 1.2*c.floor(s)
	} else {
		c.unmet = false
	}
	wants := max(c.grow, normal)
	most, _ := c.shares(s)
	_, target := c.p.shares(false)
	switch {
	case c.unmet:
		return Emergency, BudgetUnmet
	case c.userGOGC:
		return UserSet, UserGOGC
	case c.est.windows == 0:
		return Inactive, NothingKnown
	case !c.spending && (!r.known || r.growth >= normal):
		return Inactive, Cheap
	case !c.spending || r.growth < wants:
		if !r.known {
			return Spending, UnknownMemory
		}
		if r.growth < wants/raiseBand && c.est.share(r.growth) > target {
			return Shrinking, BudgetBound
		}
		return Spending, BudgetBound
	case s.Pressure >= highPressure:
		return Shrinking, Pressure
	case c.held:
		return Holding, c.why
	case c.priced:
		return Spending, PriceBound
	case gogc >= c.p.Ceiling:
		return Spending, CeilingBound
	case c.est.share(normal) > most:
		return Spending, Costly
	case gogc == base: // it is about to be left alone, or to be spent on
		return Inactive, Cheap
	}
	return Spending, Frequent
}

// Late is the share of its CPUs that the program has used of late.
func (c *Controller) Late() float64 { return c.load.late }
