package oom

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// goFirst has this goroutine run before others where it may (CAP_SYS_NICE): a program that
// is nearly out of memory often has all CPUs busy. It is not for long work.
func goFirst() { prefer(-20) }

// goNext is goFirst for what is done beside it: where there are two CPUs the program still
// gets some time.
func goNext() { prefer(-10) }

func prefer(nice int) {
	runtime.LockOSThread()
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), nice) // without it is slower
}
