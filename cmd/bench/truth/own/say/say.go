// Package say has a program tell what its own runtime, and the kernel, know of it.
package say

import (
	"bytes"
	"encoding/json"
	"os"
	"runtime"
	"runtime/metrics"
	"runtime/pprof"
	"strconv"
)

// Said is what a program says of itself at its end.
type Said struct {
	Cycles uint64  `json:"cycles"`
	GC     float64 `json:"gc_seconds"` // of runtime/metrics
	// Peak is the kernel's (VmHWM). Smaps is what its mappings add up to at the end, in
	// pages, where status and the peak may lag by what each processor has counted.
	Peak  uint64 `json:"peak_rss_bytes"`
	Smaps uint64 `json:"smaps_rss_bytes"`
}

// rate is the most that timers of the kernel give where it ticks 250 times a second.
const rate = 250

// profile is that of Begin.
var profile *os.File

// Begin begins a profile of the program by its own runtime, in the file that TRUTH names
// with .pprof behind; without one it does nothing.
func Begin() (err error) {
	path := os.Getenv("TRUTH")
	if path == "" {
		return nil
	}
	if profile, err = os.Create(path + ".pprof"); err != nil {
		return err
	}
	// The rate stays, with a line of the runtime that says so.
	runtime.SetCPUProfileRate(rate)
	return pprof.StartCPUProfile(profile)
}

// Truth ends the profile and writes Said to the file that TRUTH names; without one it does nothing.
func Truth() error {
	path := os.Getenv("TRUTH")
	if path == "" {
		return nil
	}
	pprof.StopCPUProfile()
	if err := profile.Close(); err != nil {
		return err
	}
	samples := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(samples)
	s := Said{
		Cycles: samples[0].Value.Uint64(), GC: samples[1].Value.Float64(),
		Smaps: kib("/proc/self/smaps_rollup", "Rss:"), Peak: kib("/proc/self/status", "VmHWM:"),
	}
	data, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

// kib reads a size from a file of the kernel, 0 where it has none.
func kib(path, key string) uint64 {
	data, _ := os.ReadFile(path)
	for line := range bytes.Lines(data) {
		if f := bytes.Fields(line); len(f) > 1 && string(f[0]) == key {
			n, _ := strconv.ParseUint(string(f[1]), 10, 64)
			return n << 10
		}
	}
	return 0
}
