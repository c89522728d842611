package callsite

import "golang.org/x/sys/unix"

// monotonic is the clock of the runtime, in nanoseconds.
func monotonic() uint64 {
	var ts unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts) != nil {
		return 0
	}
	return uint64(ts.Nano())
}
