package gctune

import (
	"os"

	"golang.org/x/sys/unix"
)

// singleCPU reports whether the process may run on one CPU only: on a machine with one, or
// pinned to it. A CPU quota is something else: there two threads use it up sooner, and then
// wait for its next period.
func singleCPU() bool {
	var set unix.CPUSet
	return unix.SchedGetaffinity(os.Getpid(), &set) == nil && set.Count() == 1
}
