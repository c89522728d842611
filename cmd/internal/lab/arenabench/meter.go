package arenabench

import (
	"runtime"
	"time"
)

// A Result is what some work cost.
type Result struct {
	Wall, User, System time.Duration
	Faults             uint64 // without disk access
	Peak               uint64 // the process's largest resident memory, bytes; 0 where unknown
	Collections        uint32
	// Resident is how much memory was resident when much of it was in use, and Huge
	// the part of it on huge pages; 0 where unknown.
	Resident, Huge uint64
	// Sum is the same for all ways to do the same work.
	Sum uint64
}

// A Figure is a part of a Result under the name that it has in results.
type Figure struct {
	Key   string
	Value float64
}

// Figures returns what is known of a result: times are seconds, sizes bytes.
func (r *Result) Figures() []Figure {
	f := []Figure{
		{"wall_seconds", r.Wall.Seconds()}, {"user_seconds", r.User.Seconds()}, {"system_seconds", r.System.Seconds()},
		{"cpu_seconds", (r.User + r.System).Seconds()}, {"faults", float64(r.Faults)}, {"gc_cycles", float64(r.Collections)},
		{"checksum", float64(r.Sum & (1<<32 - 1))}, // what a float64 holds exactly
	}
	if r.Peak > 0 {
		f = append(f, Figure{"peak_rss_bytes", float64(r.Peak)})
	}
	if r.Resident > 0 {
		f = append(f, Figure{"huge_fraction", float64(r.Huge) / float64(r.Resident)})
	}
	return f
}

// usage is what the kernel has counted of this process.
type usage struct {
	user, system time.Duration
	faults       uint64
}

// A meter measures work, from start on.
type meter struct {
	begun       time.Time
	before      usage
	collections uint32
	looked      struct { // what looking itself cost
		usage
		wall time.Duration
	}
	resident, huge uint64
}

// start begins to measure. What was made before, such as the input, is not
// counted.
func (m *meter) start() {
	runtime.GC()
	m.collections = collections()
	m.before, m.begun = read(), time.Now()
}

// look looks at how the memory lies, without counting the time it takes.
func (m *meter) look() {
	was, begun := read(), time.Now()
	m.resident, m.huge = residency()
	m.looked.wall += time.Since(begun)
	now := read()
	m.looked.user += now.user - was.user
	m.looked.system += now.system - was.system
	m.looked.faults += now.faults - was.faults
}

func (m *meter) result(sum uint64) *Result {
	wall, now := time.Since(m.begun), read()
	return &Result{
		Wall: wall - m.looked.wall, User: now.user - m.before.user - m.looked.user, System: now.system - m.before.system - m.looked.system,
		Faults: now.faults - m.before.faults - m.looked.faults, Peak: peak(), Collections: collections() - m.collections,
		Resident: m.resident, Huge: m.huge, Sum: sum,
	}
}

func collections() uint32 {
	var s runtime.MemStats
	runtime.ReadMemStats(&s)
	return s.NumGC
}
