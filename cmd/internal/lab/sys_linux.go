package lab

import (
	"os"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// settle keeps this thread on one processor, the last one that it may use: its
// caches and its TLB stay warm, and the first one often serves interrupts.
func settle() {
	var set, one unix.CPUSet
	if unix.SchedGetaffinity(0, &set) != nil {
		return
	}
	for cpu := len(set)*64 - 1; cpu >= 0; cpu-- {
		if set.IsSet(cpu) {
			one.Set(cpu)
			_ = unix.SchedSetaffinity(0, &one) // a machine that forbids it is measured all the same
			return
		}
	}
}

// processTime returns the CPU time of this process.
func processTime() time.Duration {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &ru) != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// maxRSS returns the peak memory of a process that has ended, in bytes; at least that of
// this process when it started it.
func maxRSS(s *os.ProcessState) uint64 {
	if ru, ok := s.SysUsage().(*syscall.Rusage); ok {
		return uint64(ru.Maxrss) << 10
	}
	return 0
}

// minorFaults returns how many page faults without disk access this thread has
// had. The caller is locked to it.
func minorFaults() uint64 {
	var ru unix.Rusage
	if unix.Getrusage(unix.RUSAGE_THREAD, &ru) != nil {
		return 0
	}
	runtime.KeepAlive(&ru)
	return uint64(ru.Minflt)
}
