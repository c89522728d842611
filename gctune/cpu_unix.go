//go:build unix

package gctune

import (
	"time"

	"golang.org/x/sys/unix"
)

// processTime is the CPU time of the process by the kernel's account.
func processTime() (time.Duration, bool) {
	var ru unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &ru); err != nil {
		return 0, false
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), true
}
