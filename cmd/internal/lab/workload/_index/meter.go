package main

import (
	"os"
	"runtime"
	"runtime/metrics"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// used is what some work cost.
type used struct {
	wall, cpu, system time.Duration
	faults            uint64
	cycles            uint64
	collection        float64 // CPU-seconds of the GC, without idle time
	peak              uint64  // resident memory since the start, bytes
	huge              float64 // share of the resident memory in the end
}

type meter struct {
	begun  time.Time
	before used
}

// newMeter begins to measure. What was left before is collected now.
func newMeter() *meter {
	runtime.GC()
	m := &meter{before: now()}
	m.begun = time.Now()
	return m
}

func (m *meter) stop() used {
	wall, u := time.Since(m.begun), now()
	u.wall = wall
	u.cpu -= m.before.cpu
	u.system -= m.before.system
	u.faults -= m.before.faults
	u.cycles -= m.before.cycles
	u.collection = max(u.collection-m.before.collection, 0)
	u.peak = kilobytes("/proc/self/status", "VmHWM:")
	const rollup = "/proc/self/smaps_rollup"
	if rss := kilobytes(rollup, "Rss:"); rss > 0 {
		u.huge = float64(kilobytes(rollup, "AnonHugePages:")) / float64(rss)
	}
	return u
}

func now() (u used) {
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		u.system = time.Duration(ru.Stime.Nano())
		u.cpu = time.Duration(ru.Utime.Nano()) + u.system
		u.faults = uint64(ru.Minflt)
	}
	s := []metrics.Sample{
		{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}, {Name: "/cpu/classes/gc/mark/idle:cpu-seconds"},
	}
	metrics.Read(s)
	u.cycles, u.collection = s[0].Value.Uint64(), s[1].Value.Float64()-s[2].Value.Float64()
	return u
}

// kilobytes returns, in bytes, a size that a file of the kernel gives in kB; 0 if
// it does not.
func kilobytes(file, field string) uint64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			n, _ := strconv.ParseUint(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 53)
			return n << 10
		}
	}
	return 0
}
