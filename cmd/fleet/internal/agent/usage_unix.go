//go:build unix

package agent

import (
	"time"

	"golang.org/x/sys/unix"
)

// cpuSeconds is the CPU time of this process.
func cpuSeconds() float64 {
	var u unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return (time.Duration(u.Utime.Nano()) + time.Duration(u.Stime.Nano())).Seconds()
}
