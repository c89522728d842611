package main

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// goFirst has this goroutine run before others where it may (CAP_SYS_NICE): a program that
// is nearly out of memory often has all CPUs busy. It is not for long work.
func goFirst() {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20) // without it is slower
}
