package main

import (
	"os"
	"syscall"
)

// usage returns the peak RSS in bytes and the minor faults of a process. The
// kernel starts its count of the peak at that of the process that forked: a
// program smaller than this one would seem as large, and has NaN.
func usage(s *os.ProcessState) (rss, faults float64) {
	r, ok := s.SysUsage().(*syscall.Rusage)
	if !ok {
		return nan, nan
	}
	rss, faults = float64(r.Maxrss)*1024, float64(r.Minflt)
	var own syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &own); err != nil || r.Maxrss <= own.Maxrss {
		rss = nan
	}
	return rss, faults
}
