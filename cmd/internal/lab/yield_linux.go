package lab

import (
	"fmt"
	"os/exec"
	"runtime"

	"golang.org/x/sys/unix"
)

// startYielding starts a command whose threads give way at once to those of folio
// (SCHED_IDLE, which takes no privileges): where there are few CPUs, a load is sent in time
// only if it need not wait for the server's time slices, of about 3 ms. A load from another
// machine would not have to.
func startYielding(cmd *exec.Cmd) error {
	started := make(chan error, 1)
	go func() {
		// The policy is the thread's, and inherited. This thread ends with the goroutine,
		// which stays locked to it.
		runtime.LockOSThread()
		attr := &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}
		if err := unix.SchedSetAttr(0, attr, 0); err != nil {
			started <- fmt.Errorf("set the scheduling policy of the server: %w", err)
			return
		}
		started <- cmd.Start()
	}()
	return <-started
}
