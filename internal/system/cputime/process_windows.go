package cputime

import (
	"time"

	"golang.org/x/sys/windows"
)

// Process returns the CPU time of this process by the kernel's account.
func Process() (time.Duration, bool) {
	var creation, exit, kernel, user windows.Filetime
	if err := windows.GetProcessTimes(windows.CurrentProcess(), &creation, &exit, &kernel, &user); err != nil {
		return 0, false
	}
	// Filetime.Nanoseconds is of a date, these are spans in units of 100 ns.
	span := func(f windows.Filetime) time.Duration {
		return time.Duration(int64(f.HighDateTime)<<32|int64(f.LowDateTime)) * 100
	}
	return span(kernel) + span(user), true
}
