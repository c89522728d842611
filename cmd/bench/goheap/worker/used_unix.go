//go:build unix

package main

import "golang.org/x/sys/unix"

// used is what the process has used so far: page faults, and seconds of CPU time.
func used() (faults, user, sys float64) {
	var u unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &u) // cannot fail
	return float64(u.Minflt), float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9
}
