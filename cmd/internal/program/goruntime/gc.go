package goruntime

import (
	"fmt"
	"math"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/layout"
)

// PauseRing is how many GC cycles the runtime keeps the stop-the-world pauses of.
const PauseRing = 256

// GC is what the runtime counts of its GC. Sizes are bytes. Where package runtime says the
// same, its name follows.
type GC struct {
	Cycles uint32 // that ended: MemStats.NumGC; wraps around
	Forced uint32 // of those, by a call of runtime.GC: MemStats.NumForcedGC

	PauseTotal time.Duration // stop-the-world: MemStats.PauseTotalNs
	// PauseNs and PauseEnd are of the last cycles, that of cycle n at (n-1)%PauseRing: how long
	// each stopped the world, and when it ended, since 1970.
	PauseNs, PauseEnd [PauseRing]uint64
	Ended             time.Duration // when the last cycle ended, by CLOCK_MONOTONIC; 0 without any

	CPU GCCPU // of the cycles that ended

	// Cycle is the cycle that runs, or else ran last. Running says that it has not ended;
	// then Unfinished is its CPU time so far. All that a P did at one go is counted at the
	// end of it.
	Cycle      GCCycle
	Running    bool
	Unfinished GCCPU

	Percent     int32  // GOGC; -1 is off
	MemoryLimit int64  // GOMEMLIMIT; math.MaxInt64 is none
	Live        uint64 // what the last cycle found: /gc/heap/live
	Goal        uint64 // of the heap: MemStats.NextGC; see HasGoal
	Pace        Pace   // where Goal comes from
	Allocated   uint64 // Live with what was allocated since
	TotalAlloc  uint64 // in all since the start, by spans that are full: MemStats.TotalAlloc
	HeapEnd     uint64 // objects, with garbage, when all was marked the last time
	HeapInUse   uint64 // in spans for objects: MemStats.HeapInuse
	Held        uint64 // what the runtime holds of the system, and did not release
	Free        uint64 // of Held, in no span: MemStats.HeapIdle less HeapReleased
	Released    uint64 // MemStats.HeapReleased
}

// Mapped is all memory that the runtime has mapped: MemStats.Sys.
func (g *GC) Mapped() uint64 { return g.Held + g.Released }

// A Pace is where a heap goal comes from.
type Pace struct {
	Limited bool   // GOMEMLIMIT decides the goal: it leaves less than GOGC
	Base    uint64 // what GOGC is a percentage of: Live, stacks and globals
}

// EffectivePercent is the GOGC that would give the goal which GOMEMLIMIT gives: by how much the
// heap may grow between two GC cycles, in percent. limited is false where GOGC decides, as with
// all GOGC of which the limit leaves more.
//
// It inverts commit (mgcpacer.go, Go 1.21 to 1.27), goal = Live + Base*GOGC/100, at the goal of
// heapGoalInternal. What the heap did grow by between two cycles, which TotalAlloc has, is another
// figure: a call of runtime.GC ends a cycle early, and in the worst case it is larger. Where the
// live heap exceeds the limit the goal is Live, so a cycle follows the other, while the GC CPU
// limiter has goroutines allocate without assists: the heap grows, and no goal lets it.
//
// It is exact at the moment of the reading, and moves within a cycle: memoryLimitHeapGoal counts
// what is free in spans as non-heap memory, and what was not swept as heap, so its goal is lowest
// when the heap was swept, and rises as the same memory is allocated again. What a cycle leaves is
// the most of it: take several readings, over several cycles. The goal that the last cycle had
// (lastHeapGoal) does not help, for it is no less than the live heap of the cycle before, which a
// busy machine makes larger: what is allocated while the GC marks counts as live.
func (g *GC) EffectivePercent() (percent float64, limited bool) {
	if !g.Pace.Limited || g.Pace.Base == 0 {
		return 0, false
	}
	return float64(g.Goal-min(g.Goal, g.Live)) / float64(g.Pace.Base) * 100, true
}

// HasGoal reports whether Goal means anything: with GOGC=off and without GOMEMLIMIT the
// runtime has a number that no heap comes to.
func (g *GC) HasGoal() bool { return g.Percent >= 0 || g.MemoryLimit != math.MaxInt64 }

// GCCPU is CPU time as the runtime estimates it: how long Ps did something, even while the
// kernel ran something else. Package runtime/metrics has the same below /cpu/classes/gc.
type GCCPU struct {
	Assist    time.Duration // of goroutines that allocate: mark/assist
	Dedicated time.Duration // of GC workers: mark/dedicated
	Idle      time.Duration // of GC workers on Ps that had nothing else to do: mark/idle
	Pause     time.Duration // all Ps, while the world is stopped: pause
}

// Total is /cpu/classes/gc/total.
func (c GCCPU) Total() time.Duration { return c.Assist + c.Dedicated + c.Idle + c.Pause }

// GCCycle is a GC cycle, as a line of gctrace tells it. Times are those of CLOCK_MONOTONIC,
// which all processes of a machine share; what the cycle has not come to is 0.
type GCCycle struct {
	Number    uint32        // from 1
	Start     time.Duration // of the first stop-the-world
	Mark      time.Duration // its end: the program runs, and the GC marks
	MarkEnd   time.Duration // begin of the second stop-the-world
	End       time.Duration
	HeapStart uint64 // bytes in the heap at the start
	HeapEnd   uint64 // and when all was marked
	Live      uint64 // of those, what was live
	Goal      uint64 // of the heap, at the start
}

// A Pause is the time for which a GC cycle stopped the world, which it does twice.
type Pause struct {
	Cycle  uint32
	End    time.Time     // of the cycle, and so of the second stop
	At     time.Duration // the same by CLOCK_MONOTONIC, as far as nobody set the clock since
	Length time.Duration
}

// Pauses returns those of the cycles after a number of cycles, in order, as far as the
// runtime still has them. lost says how many are missing, which were the first.
func (g *GC) Pauses(after uint32) (all []Pause, lost uint32) {
	n := g.Cycles - after
	if n > PauseRing {
		lost, n = n-PauseRing, PauseRing
	}
	last := g.PauseEnd[(g.Cycles-1)%PauseRing]
	for c := g.Cycles - n; c != g.Cycles; c++ {
		i := c % PauseRing
		all = append(all, Pause{c + 1, time.Unix(0, int64(g.PauseEnd[i])), g.Ended - time.Duration(last-g.PauseEnd[i]), time.Duration(g.PauseNs[i])})
	}
	return all, lost
}

// gcReader reads GC. It is made once for a Target.
type gcReader struct {
	stats, controller, work, guard span
	pieces                         []piece
	buf                            []byte
	f                              gcFields
}

// A span is the part of a variable that is read: from its first to its last field.
type span struct {
	at         uint64 // of the variable
	start, end uint64 // offsets
	data       []byte
}

// get takes a field of the variable.
func (s *span) get(f layout.Field) uint64 {
	f.Offset -= s.start
	return number(s.data, f)
}

func (s *span) add(f layout.Field) {
	if s.end == 0 {
		s.start = f.Offset
	}
	s.start, s.end = min(s.start, f.Offset), max(s.end, f.Offset+f.Size)
}

// gcFields are where the figures are.
type gcFields struct {
	cycles, forced, lastUnix, last, pauseTotal, pauses, pauseEnds layout.Field // runtime.memstats

	percent, limit, marked, live, inUse, released, free, ready   layout.Field // runtime.gcController
	allocated, freed, percentGoal, minTrigger, triggered, before layout.Field
	stackScan, globalsScan                                       layout.Field
	markAssist, markDedicated, markFractional, markIdle          layout.Field

	number, start, mark, markEnd, end, stopped layout.Field // runtime.work
	heap0, heap1, heap2                        layout.Field
	assist, dedicated, idle, pause, total      layout.Field
}

// newGCReader finds the fields. Where the program lacks one of them it is an error.
func (t *Target) newGCReader() (*gcReader, error) {
	if t.at.Work == 0 {
		return nil, fmt.Errorf("runtime.work was not found: %w", layout.ErrUnknown)
	}
	r := &gcReader{}
	f := &r.f
	type rows = map[string]*layout.Field
	add := func(s *span, prefix string, fields rows) {
		for name, to := range fields {
			*to = t.field(prefix + name)
			s.add(*to)
		}
	}
	add(&r.guard, "mstats.", rows{"numgc": &f.cycles, "last_gc_nanotime": &f.last})
	add(&r.stats, "mstats.", rows{"numgc": &f.cycles, "numforcedgc": &f.forced, "last_gc_unix": &f.lastUnix, "last_gc_nanotime": &f.last,
		"pause_total_ns": &f.pauseTotal, "pause_ns": &f.pauses, "pause_end": &f.pauseEnds})
	add(&r.controller, "gcControllerState.", rows{"gcPercent": &f.percent, "memoryLimit": &f.limit, "heapMarked": &f.marked, "heapLive": &f.live,
		"heapInUse": &f.inUse, "heapReleased": &f.released, "heapFree": &f.free, "mappedReady": &f.ready,
		"totalAlloc": &f.allocated, "totalFree": &f.freed, "gcPercentHeapGoal": &f.percentGoal, "sweepDistMinTrigger": &f.minTrigger,
		"triggered": &f.triggered, "lastHeapGoal": &f.before, "assistTime": &f.markAssist, "dedicatedMarkTime": &f.markDedicated,
		"fractionalMarkTime": &f.markFractional, "idleMarkTime": &f.markIdle,
		"lastStackScan": &f.stackScan, "globalsScan": &f.globalsScan})
	add(&r.work, "workType.", rows{"cycles": &f.number, "tSweepTerm": &f.start, "tMark": &f.mark, "tMarkTerm": &f.markEnd,
		"tEnd": &f.end, "pauseNS": &f.stopped, "heap0": &f.heap0, "heap1": &f.heap1, "heap2": &f.heap2})
	// The fields of CPU time have small letters until Go 1.22.
	cpu, gc := t.field("workType.cpuStats"), "cpuStats.GC"
	if len(t.l.Missing(gc+"TotalTime")) > 0 {
		gc = "cpuStats.gc"
	}
	times := rows{"AssistTime": &f.assist, "DedicatedTime": &f.dedicated, "IdleTime": &f.idle, "PauseTime": &f.pause, "TotalTime": &f.total}
	for name, to := range times {
		*to = t.field(gc + name)
		to.Offset += cpu.Offset
		r.work.add(*to)
	}
	if err := t.lacks(); err != nil {
		return nil, err
	}
	if f.pauses.Size != 8*PauseRing || f.pauseEnds.Size != 8*PauseRing {
		return nil, fmt.Errorf("the pauses of the GC: %w", layout.ErrUnknown)
	}
	r.guard.at, r.stats.at, r.controller.at, r.work.at = t.at.MemStats, t.at.MemStats, t.at.GCController, t.at.Work
	r.place(t.moved)
	return r, nil
}

// place makes the pieces that are read, in this order: what says whether a cycle ended
// meanwhile is first and last.
func (r *gcReader) place(moved uint64) {
	order := []*span{&r.guard, &r.stats, &r.controller, &r.work}
	size := r.guard.end - r.guard.start
	for _, s := range order {
		size += s.end - s.start
	}
	r.buf = make([]byte, size)
	rest := r.buf
	add := func(s *span) []byte {
		n := s.end - s.start
		data := rest[:n:n]
		rest = rest[n:]
		r.pieces = append(r.pieces, piece{Range{s.at + moved + s.start, s.at + moved + s.end}, data})
		return data
	}
	for _, s := range order {
		s.data = add(s)
	}
	add(&r.guard)
}

// ReadGC reads what the runtime says of its GC, in one system call where the kernel lets it,
// and a second that makes sure of whose memory it is. It is a fraction of what [Target.Stats]
// takes, and allocates next to nothing. Where a cycle ends meanwhile it reads again; what
// contradicts itself even so is an [ErrInconsistent], and g is as it was.
func (t *Target) ReadGC(g *GC) error {
	const tries = 10
	t.begin()
	if t.gc == nil {
		r, err := t.newGCReader()
		if err != nil {
			return err
		}
		t.gc = r
	}
	var err error
	for range tries {
		if err = t.gc.read(t); err != nil {
			return err
		}
		if err = t.gc.consistent(); err == nil {
			t.gc.fill(g)
			return nil
		}
	}
	return err
}

// read reads all pieces.
func (r *gcReader) read(t *Target) error {
	for i, rest := 0, r.buf; i < len(r.pieces); i++ { // one that could not be read lost its data
		p := &r.pieces[i]
		p.data, rest = rest[:p.Len():p.Len()], rest[p.Len():]
	}
	t.readAll(r.pieces, r.buf)
	rest := r.buf
	for _, p := range r.pieces {
		if p.data == nil { // say why
			if err := t.read(p.Start, rest[:p.Len()]); err != nil {
				return err
			}
		}
		rest = rest[p.Len():]
	}
	return nil
}

// consistent checks what was read against itself. The runtime ends a cycle with the world
// stopped, in this order: when it ended, by two clocks, the ring of pauses and their sum, the
// CPU time, how many cycles ended.
func (r *gcReader) consistent() error {
	f, first, last := &r.f, r.guard, r.guard
	last.data = r.pieces[len(r.pieces)-1].data
	if last.data == nil {
		last.data = r.buf[len(r.buf)-len(first.data):]
	}
	for _, field := range []layout.Field{f.cycles, f.last} {
		if n := r.stats.get(field); first.get(field) != n || last.get(field) != n {
			return fmt.Errorf("%w: a GC cycle ended while it was read", ErrInconsistent)
		}
	}
	cycles := r.stats.get(f.cycles)
	ended := uint64(0) // the last one, by the ring
	if cycles > 0 {
		at := f.pauseEnds
		at.Offset, at.Size = at.Offset+(cycles-1)%PauseRing*8, 8
		ended = r.stats.get(at)
	}
	if ended != r.stats.get(f.lastUnix) || r.work.get(f.end) != r.stats.get(f.last) {
		return fmt.Errorf("%w: a GC cycle is about to end", ErrInconsistent)
	}
	if begun := uint32(r.work.get(f.number)); begun != uint32(cycles) && begun != uint32(cycles)+1 {
		return fmt.Errorf("%w: %d GC cycles began, and %d ended", ErrInconsistent, begun, cycles)
	}
	if c := r.cpu(); uint64(c.Total()) != r.work.get(f.total) {
		return fmt.Errorf("%w: the CPU time of the GC is %v, and %v in parts", ErrInconsistent, time.Duration(r.work.get(f.total)), c.Total())
	}
	return nil
}

func (r *gcReader) cpu() GCCPU {
	of := func(f layout.Field) time.Duration { return time.Duration(r.work.get(f)) }
	return GCCPU{Assist: of(r.f.assist), Dedicated: of(r.f.dedicated), Idle: of(r.f.idle), Pause: of(r.f.pause)}
}

// fill makes the figures.
func (r *gcReader) fill(g *GC) {
	f, c := &r.f, &r.controller
	g.Cycles, g.Forced = uint32(r.stats.get(f.cycles)), uint32(r.stats.get(f.forced))
	g.Ended = time.Duration(r.stats.get(f.last))
	g.PauseTotal, g.CPU = time.Duration(r.stats.get(f.pauseTotal)), r.cpu()
	for i := range uint64(PauseRing) {
		g.PauseNs[i] = r.stats.get(layout.Field{Offset: f.pauses.Offset + 8*i, Size: 8})
		g.PauseEnd[i] = r.stats.get(layout.Field{Offset: f.pauseEnds.Offset + 8*i, Size: 8})
	}
	g.Percent, g.MemoryLimit = int32(c.get(f.percent)), int64(c.get(f.limit))
	g.Live, g.Allocated, g.HeapInUse, g.HeapEnd = c.get(f.marked), c.get(f.live), c.get(f.inUse), r.work.get(f.heap1)
	g.Held, g.Free, g.Released, g.TotalAlloc = c.get(f.ready), c.get(f.free), c.get(f.released), c.get(f.allocated)
	g.Goal, g.Pace.Limited = r.goal()
	g.Pace.Base = g.Live + c.get(f.stackScan) + c.get(f.globalsScan)
	r.cycle(g)
}

// cycle fills in the cycle that runs, or ran last. One that begins writes over what was of
// the one before, the sum of its stops last of what it writes before it stops the world.
func (r *gcReader) cycle(g *GC) {
	f, c := &r.f, &r.controller
	of := func(f layout.Field) time.Duration { return time.Duration(r.work.get(f)) }
	y := GCCycle{Number: uint32(r.work.get(f.number)), Start: of(f.start), Mark: of(f.mark), MarkEnd: of(f.markEnd), End: of(f.end),
		HeapStart: r.work.get(f.heap0), HeapEnd: r.work.get(f.heap1), Live: r.work.get(f.heap2), Goal: c.get(f.before)}
	if y.Number == g.Cycles && (y.Start > y.End || y.Number > 0 && of(f.stopped) == 0) {
		y.Number++ // it does not count as begun yet
	}
	g.Running, g.Unfinished = y.Number != g.Cycles, GCCPU{}
	if g.Running {
		last := y.End
		for _, at := range []*time.Duration{&y.Start, &y.Mark, &y.MarkEnd} {
			if *at <= last { // of the last cycle
				*at = 0
			}
		}
		y.End, y.HeapEnd, y.Live, y.Goal = 0, 0, 0, 0
		if y.Mark != 0 {
			of := func(f layout.Field) time.Duration { return time.Duration(c.get(f)) }
			g.Unfinished = GCCPU{Assist: of(f.markAssist), Dedicated: of(f.markDedicated) + of(f.markFractional), Idle: of(f.markIdle)}
		}
	}
	g.Cycle = y
}

// goal is the heap goal as runtime.(*gcControllerState).heapGoalInternal makes it, in Go 1.21
// to 1.27. limited says that it is GOMEMLIMIT's.
func (r *gcReader) goal() (goal uint64, limited bool) {
	const runway = 64 << 10
	f, c := &r.f, &r.controller
	goal = c.get(f.percentGoal)
	if least := r.limitGoal(); least < goal {
		return least, true
	}
	goal = max(goal, c.get(f.minTrigger))
	if triggered := c.get(f.triggered); triggered != ^uint64(0) {
		goal = max(goal, triggered+runway)
	}
	return goal, false
}

// limitGoal is memoryLimitHeapGoal: what GOMEMLIMIT leaves for the heap, less some headroom.
func (r *gcReader) limitGoal() uint64 {
	const percent, least = 3, 1 << 20
	f, c := &r.f, &r.controller
	free, objects, ready, limit := c.get(f.free), c.get(f.allocated)-c.get(f.freed), c.get(f.ready), c.get(f.limit)
	if free+objects > ready { // counted one after the other; the runtime waits until they fit
		ready = free + objects
	}
	other, over := ready-free-objects, uint64(0)
	if ready > limit {
		over = ready - limit
	}
	marked := c.get(f.marked)
	if other+over >= limit {
		return marked
	}
	goal := limit - (other + over)
	headroom := max(goal/100*percent, least)
	if goal < headroom || goal-headroom < headroom {
		goal = headroom
	} else {
		goal -= headroom
	}
	return max(goal, marked)
}
