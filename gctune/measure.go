package gctune

import (
	"math"
	"runtime/metrics"
	"time"

	"github.com/foliomem/folio/internal/procmem"
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
	last     Sample
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
const residentEvery = 100 * time.Millisecond

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

// sample reads everything. The runtime counts processor time once for each
// collection, at its end: a sample soon after one is the most exact.
func (m *meter) sample(now time.Time) Sample {
	metrics.Read(m.samples)
	idle := m.seconds(mIdleMark)
	cpu, ok := processTime()
	if !ok {
		cpu = m.seconds(mTotal) - m.seconds(mIdle)
	}
	s := Sample{
		Time:   now.Sub(m.start),
		Cycles: m.count(mCycles), Forced: m.count(mForced),
		GCTime: m.seconds(mGC) - idle, CPU: cpu - idle,
		Allocated: m.count(mAllocs),
		Live:      m.count(mLive), Scan: m.count(mStack) + m.count(mGlobals),
		GOGC: int(int32(m.count(mGOGC))), MemoryLimit: int64(min(m.count(mLimit), math.MaxInt64)),
	}
	if m.work != nil {
		s.Work, s.HasWork = m.work(), true
	}
	ready := sub(m.count(mMapped), m.count(mReleased))
	free, objects, unused, goal := m.count(mFree), m.count(mObjects), m.count(mUnused), m.count(mGoal)
	// After a collection, much of the heap is unused only until it is
	// allocated again. What counts is by how much the heap takes more than
	// its goal when it is full.
	excess := min(max(sub(objects+unused+free, goal), goal/100), unused)
	s.Overhead = sub(ready, objects+unused+free) + excess
	if now.Sub(m.resident) >= residentEvery {
		m.resident = now
		m.anon = 0
		if st, err := m.fs.Statm(0); err == nil {
			m.anon = sub(st.RSS, st.Shared)
		}
	}
	s.Rest = sub(m.anon, ready)
	m.budget.read(&s, now, m.anon)
	m.last = s
	return s
}
