package main

import (
	"runtime/metrics"
	"syscall"
)

// A usage is what this process has used so far.
type usage struct {
	assist float64 // CPU-seconds of mark assists, of the GC cycles that have ended
	cpu    float64 // CPU-seconds of all
	cycles uint64
}

func now() (u usage) {
	samples := []metrics.Sample{{Name: "/cpu/classes/gc/mark/assist:cpu-seconds"}, {Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(samples)
	u.assist, u.cycles = samples[0].Value.Float64(), samples[1].Value.Uint64()
	var ru syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &ru) == nil {
		u.cpu = float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
	}
	return u
}

// since returns what was used after another.
func (u usage) since(before usage) usage {
	return usage{u.assist - before.assist, u.cpu - before.cpu, u.cycles - before.cycles}
}
