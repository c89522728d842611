package gccount

import (
	"time"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// Figures are what the GC of a process did from the first reading to the last, or, of a
// process that is followed from its start, since then. Sizes are bytes.
type Figures struct {
	Cycles uint64 // that ended
	Forced uint64 // of those, by a call of runtime.GC

	PauseTotal time.Duration // stop-the-world
	// PauseMax is the longest pause of a cycle, the sum of its two stops, of those that were
	// not lost; LostPauses is how many were.
	PauseMax   time.Duration
	LostPauses uint64

	CPU goruntime.GCCPU // that of a cycle which has not ended included

	Live, Goal uint64 // when last read; Goal is 0 if there is none (GOGC=off)
	Held       uint64 // when last read: what the runtime mapped and did not release

	// The largest ones that were seen.
	HeapPeak   uint64 // objects, with garbage: of cycles when all was marked, and of readings
	InUsePeak  uint64 // spans for objects
	LivePeak   uint64 // what a cycle found; 0 before the first
	GoalPeak   uint64
	MappedPeak uint64 // of all that the runtime mapped, what it did not release

	// Sums over the cycles that were seen as the last one, for means: how many those were, the
	// heap when all was marked, and of that what was live.
	Seen             uint64
	HeapSum, LiveSum uint64
	// Clock is for how long those cycles ran whose start was seen, which are Timed.
	Clock time.Duration
	Timed uint64

	Readings int
}

// Plus are the figures of two processes, or of one and then of another time.
func (f Figures) Plus(o Figures) Figures {
	return Figures{Cycles: f.Cycles + o.Cycles, Forced: f.Forced + o.Forced, PauseTotal: f.PauseTotal + o.PauseTotal,
		PauseMax: max(f.PauseMax, o.PauseMax), LostPauses: f.LostPauses + o.LostPauses, CPU: plus(f.CPU, o.CPU),
		Live: f.Live + o.Live, Goal: f.Goal + o.Goal, Held: f.Held + o.Held, HeapPeak: max(f.HeapPeak, o.HeapPeak), InUsePeak: max(f.InUsePeak, o.InUsePeak),
		LivePeak: max(f.LivePeak, o.LivePeak), GoalPeak: max(f.GoalPeak, o.GoalPeak), MappedPeak: max(f.MappedPeak, o.MappedPeak),
		Seen: f.Seen + o.Seen, HeapSum: f.HeapSum + o.HeapSum, LiveSum: f.LiveSum + o.LiveSum,
		Clock: f.Clock + o.Clock, Timed: f.Timed + o.Timed, Readings: f.Readings + o.Readings}
}

// OfTrace are the figures of a trace. Its sizes are whole MiB, rounded down.
func OfTrace(s gctrace.Summary) Figures {
	n := uint64(s.Cycles)
	return Figures{Cycles: n, Forced: uint64(s.Forced), PauseTotal: s.PauseTotal, PauseMax: s.PauseMax, HeapPeak: s.HeapPeak, LivePeak: s.LivePeak,
		CPU:  goruntime.GCCPU{Assist: s.AssistCPU, Dedicated: s.CPU - s.AssistCPU - s.IdleCPU - s.PauseCPU, Idle: s.IdleCPU, Pause: s.PauseCPU},
		Seen: n, HeapSum: s.HeapSum, LiveSum: s.LiveSum}
}

// A Cycle is a GC cycle that ended.
type Cycle struct {
	goruntime.Pause
	// Detail is more of the cycle where it was seen; else nil. HeapEnd, Live and Goal are 0
	// where it was seen as it ran, and not as the last one.
	Detail *goruntime.GCCycle
}

// A Step is what a reading found that the one before did not.
type Step struct {
	Cycles []Cycle         // that ended, in order; valid until the next reading
	Lost   uint64          // those that ended before them, and of which nothing more is known
	Forced uint64          // of all
	CPU    goruntime.GCCPU // of all, and of one that has not ended
	// Ended is the CPU time of the cycles that ended, from their starts: that of the cycle where
	// there is one. The runtime tells no more of several.
	Ended goruntime.GCCPU
}

// A Count adds up readings of one process. Its zero value counts from the first reading on.
type Count struct {
	// FromStart has the first reading count in full: that of a process which was started
	// to be counted.
	FromStart bool

	f      Figures
	begun  bool
	last   reading
	cycles []Cycle
	detail [2]goruntime.GCCycle
}

// A reading is what the next one is compared with.
type reading struct {
	cycles, forced uint32
	pause          time.Duration
	cpu, ended     goruntime.GCCPU
	running        goruntime.GCCycle // Number is 0 for none
}

func readingOf(g *goruntime.GC) reading {
	r := reading{cycles: g.Cycles, forced: g.Forced, pause: g.PauseTotal, cpu: plus(g.CPU, g.Unfinished), ended: g.CPU}
	if g.Running && g.Cycle.Start != 0 {
		r.running = g.Cycle
	}
	return r
}

// Figures are what was added up.
func (c *Count) Figures() Figures { return c.f }

// Restart adds up anew, from the last reading on.
func (c *Count) Restart() { c.f = Figures{} }

// Add adds a reading.
func (c *Count) Add(g *goruntime.GC) (s Step) {
	if !c.begun {
		c.begun = true
		if !c.FromStart {
			c.last = readingOf(g)
		}
	}
	now := readingOf(g)
	n := g.Cycles - c.last.cycles
	pauses, lost := g.Pauses(c.last.cycles)
	s.Lost, s.Forced = uint64(lost), uint64(now.forced-c.last.forced)
	c.cycles = c.cycles[:0]
	for _, p := range pauses {
		d := c.detailOf(g, p)
		if d != nil && d.Start != 0 && d.Start < d.End {
			c.f.Clock, c.f.Timed = c.f.Clock+d.End-d.Start, c.f.Timed+1
		}
		c.cycles = append(c.cycles, Cycle{p, d})
		c.f.PauseMax = max(c.f.PauseMax, p.Length)
	}
	s.Cycles = c.cycles
	s.CPU, s.Ended = minus(now.cpu, c.last.cpu), minus(now.ended, c.last.ended)

	f := &c.f
	f.Readings++
	f.Cycles += uint64(n)
	f.Forced += s.Forced
	f.LostPauses += s.Lost
	f.PauseTotal += now.pause - c.last.pause
	f.CPU = plus(f.CPU, s.CPU)
	f.Live, f.Goal, f.Held = g.Live, 0, g.Held
	if g.HasGoal() {
		f.Goal, f.GoalPeak = g.Goal, max(f.GoalPeak, g.Goal)
	}
	f.HeapPeak = max(f.HeapPeak, g.Allocated)
	if n > 0 {
		f.HeapPeak = max(f.HeapPeak, g.HeapEnd)
		f.Seen, f.HeapSum, f.LiveSum = f.Seen+1, f.HeapSum+g.HeapEnd, f.LiveSum+g.Live
	}
	f.InUsePeak = max(f.InUsePeak, g.HeapInUse)
	if g.Cycles > 0 {
		f.LivePeak = max(f.LivePeak, g.Live)
	}
	f.MappedPeak = max(f.MappedPeak, g.Held)
	c.last = now
	return s
}

// detailOf returns what is known of a cycle that ended: all of the last one, and when the
// one that ran when it was last read began.
func (c *Count) detailOf(g *goruntime.GC, p goruntime.Pause) *goruntime.GCCycle {
	switch p.Cycle {
	case g.Cycle.Number: // it cannot run any more
		c.detail[0] = g.Cycle
		return &c.detail[0]
	case c.last.running.Number:
		c.detail[1] = c.last.running
		c.detail[1].End = p.At
		return &c.detail[1]
	}
	return nil
}

func plus(a, b goruntime.GCCPU) goruntime.GCCPU {
	return goruntime.GCCPU{Assist: a.Assist + b.Assist, Dedicated: a.Dedicated + b.Dedicated, Idle: a.Idle + b.Idle, Pause: a.Pause + b.Pause}
}

func minus(a, b goruntime.GCCPU) goruntime.GCCPU {
	return goruntime.GCCPU{Assist: a.Assist - b.Assist, Dedicated: a.Dedicated - b.Dedicated, Idle: a.Idle - b.Idle, Pause: a.Pause - b.Pause}
}
