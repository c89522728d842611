package gctune

import (
	"math"
	"runtime"
	"runtime/metrics"
	"time"

	"github.com/foliomem/folio/internal/base/ballast"
	"github.com/foliomem/folio/internal/library/gccontrol"
	"github.com/foliomem/folio/internal/system/cputime"
	"github.com/foliomem/folio/internal/system/procmem"
)

// meter takes samples of this process.
type meter struct {
	samples []metrics.Sample
	start   time.Time
	fs      procmem.FS
	budget  *budgeter
	work    func() uint64

	resident time.Time // when it was read
	anon     uint64    // resident memory that belongs to no file; 0 when unknown
	nonGo    uint64    // of that, what the runtime did not know of at that moment
	collect  collection
	ended    gccontrol.Sample // the first after the last GC cycle
	full     uint64           // heap objects when that cycle ended, with garbage
	last     gccontrol.Sample
}

// collection is the CPU time of GC cycles, taken from the runtime's
// account at the end of each.
type collection struct {
	cycles   uint64
	by       account       // the runtime's clock, until then
	cpu      time.Duration // by the kernel's, until then
	gc, idle time.Duration // corrected
}

// account is CPU time by the runtime's clock: of the GC but for idle workers, of those, and of
// all that ran.
type account struct{ gc, idle, busy time.Duration }

// add takes in what the accounts say after a GC cycle, and returns what all have
// taken, idle workers apart. The runtime's clock goes on for a thread that waits for a processor, on a
// crowded machine or when a container has used up its share; the kernel's does
// not. What the runtime counts is therefore scaled by what the kernel gave it: half of it
// where two Ps shared one CPU.
func (c *collection) add(cycles uint64, by account, cpu time.Duration, shared bool) (gc, idle time.Duration) {
	if cycles == c.cycles {
		return c.gc, c.idle
	}
	scale := 1.0
	if d := by.busy - c.by.busy; d > 0 {
		scale = min(max(float64(cpu-c.cpu)/float64(d), 0), 1)
	}
	if shared {
		scale = min(scale, 0.5)
	}
	c.gc += time.Duration(scale * float64(max(by.gc-c.by.gc, 0)))
	c.idle += time.Duration(scale * float64(max(by.idle-c.by.idle, 0)))
	c.cycles, c.by, c.cpu = cycles, by, cpu
	return c.gc, c.idle
}

// The names of what is read. The order is that of the constants.
var metricNames = []string{
	"/gc/cycles/total:gc-cycles", "/gc/cycles/forced:gc-cycles",
	"/cpu/classes/gc/total:cpu-seconds", "/cpu/classes/gc/mark/idle:cpu-seconds",
	"/cpu/classes/total:cpu-seconds", "/cpu/classes/idle:cpu-seconds",
	"/gc/heap/allocs:bytes", "/gc/heap/live:bytes", "/gc/heap/goal:bytes",
	"/gc/scan/stack:bytes", "/gc/scan/globals:bytes",
	"/memory/classes/total:bytes", "/memory/classes/heap/released:bytes", "/memory/classes/heap/free:bytes",
	"/memory/classes/heap/objects:bytes", "/memory/classes/heap/unused:bytes",
	"/gc/gogc:percent", "/gc/gomemlimit:bytes",
}

const (
	mCycles = iota
	mForced
	mGC
	mIdleMark
	mTotal
	mIdle
	mAllocs
	mLive
	mGoal
	mStack
	mGlobals
	mMapped
	mReleased
	mFree
	mObjects
	mUnused
	mGOGC
	mLimit
)

// residentEvery is how old what is known of resident memory may be.
const residentEvery = 40 * time.Millisecond

func newMeter(fs procmem.FS, b *budgeter, work func() uint64) *meter {
	m := &meter{start: time.Now(), fs: fs, budget: b, work: work, samples: make([]metrics.Sample, len(metricNames))}
	for i, name := range metricNames {
		m.samples[i].Name = name
	}
	return m
}

// count is a metric that this version of Go may lack: then it is 0.
func (m *meter) count(i int) uint64 {
	if v := m.samples[i].Value; v.Kind() == metrics.KindUint64 {
		return v.Uint64()
	}
	return 0
}

func (m *meter) seconds(i int) time.Duration {
	if v := m.samples[i].Value; v.Kind() == metrics.KindFloat64 {
		return time.Duration(v.Float64() * float64(time.Second))
	}
	return 0
}

// sample reads everything. The runtime counts CPU time once for each
// GC cycle, at its end: a sample soon after one is the most exact.
func (m *meter) sample(now time.Time, second extra) gccontrol.Sample {
	var allocated, cycles uint64 // of goheap
	ballast.Read(func(a, c uint64) {
		metrics.Read(m.samples)
		allocated, cycles = a, c
	})
	marked := m.seconds(mIdleMark)
	busy := m.seconds(mTotal) - m.seconds(mIdle)
	cpu, ok := cputime.Process()
	if !ok {
		cpu = busy
	}
	gc, idle := m.collect.add(m.count(mCycles), account{m.seconds(mGC) - marked, marked, busy}, cpu, second.marked)
	cpus := runtime.GOMAXPROCS(0)
	if second.now {
		cpus--
	}
	s := gccontrol.Sample{
		Time:   now.Sub(m.start),
		Cycles: m.count(mCycles), Forced: m.count(mForced) + cycles,
		GCTime: gc, CPU: cpu - idle, CPUs: cpus,
		Allocated: less(m.count(mAllocs), allocated),
		Live:      m.count(mLive), Scan: m.count(mStack) + m.count(mGlobals),
		GOGC: int(int32(m.count(mGOGC))), MemoryLimit: int64(min(m.count(mLimit), math.MaxInt64)),
	}
	if m.work != nil {
		s.Work, s.HasWork = m.work(), true
	}
	ready := less(m.count(mMapped), m.count(mReleased))
	heap := footprint{
		objects: m.count(mObjects), unused: m.count(mUnused), free: m.count(mFree), goal: m.count(mGoal), full: m.fullest(&s),
	}
	s.Committed, s.Overhead = ready, less(ready, heap.objects+heap.unused+heap.free)+heap.excess()
	s.Releasable = heap.free + less(heap.objects, s.Live)
	if now.Sub(m.resident) >= residentEvery {
		m.resident = now
		m.anon = 0
		if st, err := m.fs.Statm(0); err == nil {
			m.anon = less(st.RSS, st.Shared)
		}
		// Both of one moment: a heap that shrinks between two readings must not
		// look like something else that grows.
		m.nonGo = less(m.anon, ready)
	}
	s.NonGo = m.nonGo
	m.budget.read(&s, now, m.anon)
	m.last = s
	return s
}

// footprint is what the heap takes, in bytes.
type footprint struct {
	objects uint64 // live, or garbage that is not swept
	unused  uint64 // between objects, in spans that are in use
	free    uint64 // free spans that were not released
	goal    uint64
	full    uint64 // objects when the last GC cycle ended
}

// excess is by how much the heap takes more than its objects when it is full.
// Much of what lies unused after a GC cycle will be allocated again, and
// where most of a heap has died that is most of it: it counts as much as it did
// when the heap was full last.
func (f *footprint) excess() uint64 {
	most := max(f.goal, f.full)
	return min(max(less(f.objects+f.unused+f.free, most), f.goal/100), f.unused)
}

// fullest is how large the heap was when the last GC cycle ended: what was live
// before it, and what was allocated since then.
func (m *meter) fullest(s *gccontrol.Sample) uint64 {
	cycles := less(s.Cycles, m.ended.Cycles)
	if cycles > 0 {
		m.full = m.ended.Live + less(s.Allocated, m.ended.Allocated)/cycles
		m.ended = *s
	}
	return m.full
}
