package goruntime

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/program/layout"
)

// Stats are the statistics that the runtime keeps, in bytes. They are what package
// runtime/metrics says of the same moment: the metric of each is named.
type Stats struct {
	Objects     uint64 // /memory/classes/heap/objects
	Unused      uint64 // /memory/classes/heap/unused: in spans, and in no object
	Free        uint64 // /memory/classes/heap/free: in no span, and not released
	Released    uint64 // /memory/classes/heap/released
	Stacks      uint64 // /memory/classes/heap/stacks: of goroutines
	OSStacks    uint64 // /memory/classes/os-stacks
	WorkBufs    uint64 // of the GC, in spans; a part of Metadata
	Metadata    uint64 // /memory/classes/metadata, .../profiling/buckets and .../other
	ObjectCount uint64 // /gc/heap/objects

	Live        uint64 // /gc/heap/live: what the last GC cycle found
	Cycles      uint32 // /gc/cycles/total
	LastGC      uint64 // when the last cycle ended, in nanoseconds since 1970; 0 for none
	TotalAlloc  uint64 // in all since the start, by spans that are full: MemStats.TotalAlloc
	Percent     int32  // GOGC; -1 is off
	MemoryLimit int64  // GOMEMLIMIT; math.MaxInt64 is none
}

// InHeap is what the runtime has in spans for objects.
func (s Stats) InHeap() uint64 { return s.Objects + s.Unused }

// Total is all memory that the runtime has mapped: /memory/classes/total.
func (s Stats) Total() uint64 {
	return s.InHeap() + s.Free + s.Released + s.Stacks + s.OSStacks + s.Metadata
}

// State returns what a Reader of the process would read, but for the number of goroutines.
func (t *Target) State() (State, error) {
	s, err := t.Stats()
	if err != nil {
		return State{}, err
	}
	return State{
		Cycles: s.Cycles, Percent: new(int(s.Percent)), Limit: &s.MemoryLimit, Marked: &s.Live, Live: new(max(s.Objects, s.Live)),
		Held: new(s.Total() - s.Released), Stacks: &s.Stacks,
	}, nil
}

// Stats reads the statistics. The runtime keeps most of them twice. Where the two differ
// by more than a program does between two reads, they are read again, and in the end
// they are an [ErrInconsistent].
func (t *Target) Stats() (Stats, error) {
	const tries = 10
	var err error
	t.begin()
	for range tries {
		var s Stats
		var twice counted
		if s, twice, err = t.stats(); err != nil {
			return Stats{}, err
		}
		if err = twice.compare(s); err == nil {
			return s, nil
		}
	}
	return Stats{}, err
}

// counted are statistics as gcController counts them.
type counted struct {
	inHeap, released, free uint64
	marked, live           uint64
	ready                  uint64
}

// compare checks both kinds of statistics against each other.
func (c counted) compare(s Stats) error {
	for _, p := range []struct {
		name      string
		have, say uint64
	}{{"the heap in use", c.inHeap, s.InHeap()}, {"released memory", c.released, s.Released}, {"free memory", c.free, s.Free}} {
		if differ(p.have, p.say) {
			return fmt.Errorf("%w: %s is %d bytes by one of its counts, %d by another", ErrInconsistent, p.name, p.have, p.say)
		}
	}
	// What was marked is in objects that are no larger than the heap, of the last cycle;
	// what is mapped is known within what one read misses.
	if held := s.Total() - s.Released; differ(c.ready, held) {
		return fmt.Errorf("%w: %d bytes are mapped by one of its counts, %d by another", ErrInconsistent, c.ready, held)
	}
	return nil
}

// differ reports whether two counts of the same differ by more than a program changes
// them while they are read.
func differ(a, b uint64) bool {
	const least = 8 << 20
	if a < b {
		a, b = b, a
	}
	return a-b > max(least, a/10)
}

// statFields are where the statistics are.
type statFields struct {
	size, stats, delta                             layout.Field
	committed, released, inHeap, inStacks, inWork  layout.Field
	inScalar                                       layout.Field // until Go 1.24
	largeAlloc, largeFree, largeAllocs, largeFrees layout.Field
	smallAllocs, smallFrees                        layout.Field
	stacks, mspan, mcache, buckets, misc, other    layout.Field
	cycles, lastGC                                 layout.Field
	controller, percent, limit, marked, live       layout.Field
	allocated                                      layout.Field
	heapInUse, heapReleased, heapFree, mappedReady layout.Field
}

func (t *Target) statFields() (f statFields, err error) {
	for path, to := range map[string]*layout.Field{
		"mstats": &f.size, "mstats.heapStats": &f.stats, "heapStatsDelta": &f.delta,
		"heapStatsDelta.committed": &f.committed, "heapStatsDelta.released": &f.released, "heapStatsDelta.inHeap": &f.inHeap,
		"heapStatsDelta.inStacks": &f.inStacks, "heapStatsDelta.inWorkBufs": &f.inWork,
		"heapStatsDelta.largeAlloc": &f.largeAlloc, "heapStatsDelta.largeFree": &f.largeFree,
		"heapStatsDelta.largeAllocCount": &f.largeAllocs, "heapStatsDelta.largeFreeCount": &f.largeFrees,
		"heapStatsDelta.smallAllocCount": &f.smallAllocs, "heapStatsDelta.smallFreeCount": &f.smallFrees,
		"mstats.stacks_sys": &f.stacks, "mstats.mspan_sys": &f.mspan, "mstats.mcache_sys": &f.mcache,
		"mstats.buckhash_sys": &f.buckets, "mstats.gcMiscSys": &f.misc, "mstats.other_sys": &f.other,
		"mstats.numgc": &f.cycles, "mstats.last_gc_unix": &f.lastGC,
		"gcControllerState": &f.controller, "gcControllerState.gcPercent": &f.percent, "gcControllerState.memoryLimit": &f.limit,
		"gcControllerState.totalAlloc": &f.allocated, "gcControllerState.heapMarked": &f.marked, "gcControllerState.heapLive": &f.live, "gcControllerState.heapInUse": &f.heapInUse,
		"gcControllerState.heapReleased": &f.heapReleased, "gcControllerState.heapFree": &f.heapFree,
		"gcControllerState.mappedReady": &f.mappedReady,
	} {
		*to = t.field(path)
	}
	f.inScalar, _ = t.l.Field("heapStatsDelta.inPtrScalarBits")
	classes := uint64(len(t.l.SizeClasses()))
	if err := t.lacks(); err != nil {
		return f, err
	}
	if f.smallAllocs.Size != 8*classes || f.smallFrees.Size != 8*classes || f.size.Size > 1<<20 || f.controller.Size > 1<<20 {
		return f, fmt.Errorf("the table of size classes: %w", layout.ErrUnknown)
	}
	return f, nil
}

// stats reads the statistics once.
func (t *Target) stats() (s Stats, c counted, err error) {
	f, err := t.statFields()
	if err != nil {
		return s, c, err
	}
	all, controller := make([]byte, f.size.Size), make([]byte, f.controller.Size)
	if err := t.read(t.at.MemStats+t.moved, all); err != nil {
		return s, c, err
	}
	if err := t.read(t.at.GCController+t.moved, controller); err != nil {
		return s, c, err
	}
	// Every P counts in one of three parts of the statistics; what they are is the sum.
	var committed, inHeap, objects uint64
	classes := t.l.SizeClasses()
	for i := range uint64(3) {
		at := f.stats.Offset + i*f.delta.Size
		if at+f.delta.Size > uint64(len(all)) {
			return s, c, fmt.Errorf("statistics of the heap: %w", layout.ErrUnknown)
		}
		d := all[at : at+f.delta.Size]
		committed += number(d, f.committed)
		inHeap += number(d, f.inHeap)
		s.Released += number(d, f.released)
		s.Stacks += number(d, f.inStacks)
		s.WorkBufs += number(d, f.inWork) + number(d, f.inScalar)
		objects += number(d, f.largeAlloc) - number(d, f.largeFree)
		s.ObjectCount += number(d, f.largeAllocs) - number(d, f.largeFrees)
		for class, size := range classes {
			at := layout.Field{Offset: 8 * uint64(class), Size: 8}
			n := number(d[f.smallAllocs.Offset:], at) - number(d[f.smallFrees.Offset:], at)
			objects += n * size
			s.ObjectCount += n
		}
	}
	s.OSStacks = number(all, f.stacks)
	s.Metadata = s.WorkBufs
	for _, of := range []layout.Field{f.mspan, f.mcache, f.buckets, f.misc, f.other} {
		s.Metadata += number(all, of)
	}
	s.Cycles, s.LastGC = uint32(number(all, f.cycles)), number(all, f.lastGC)
	s.Percent, s.MemoryLimit = int32(number(controller, f.percent)), int64(number(controller, f.limit))
	s.Live, s.TotalAlloc = number(controller, f.marked), number(controller, f.allocated)
	// While the parts are moved into each other, they can be seen twice or not at all.
	const most = 1 << 48
	used := inHeap + s.Stacks + s.WorkBufs
	for _, n := range []uint64{committed, inHeap, objects, s.Released, s.Stacks, s.WorkBufs, s.Metadata, s.Live} {
		if n > most {
			return Stats{}, counted{inHeap: most}, nil // compare says so
		}
	}
	if committed < used {
		committed = used
	}
	if objects > inHeap {
		objects = inHeap
	}
	s.Objects, s.Unused, s.Free = objects, inHeap-objects, committed-used
	return s, counted{
		inHeap: number(controller, f.heapInUse), released: number(controller, f.heapReleased), free: number(controller, f.heapFree),
		marked: s.Live, live: number(controller, f.live), ready: number(controller, f.mappedReady),
	}, nil
}
