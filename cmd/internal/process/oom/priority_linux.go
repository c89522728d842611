package oom

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// goFirst has this goroutine run before others where it may (CAP_SYS_NICE), until back is called:
// a program that is nearly out of memory often has all CPUs busy. It is not for long work.
func goFirst() (back func()) { return prefer(-20) }

// goNext is goFirst for what is done beside it: where there are two CPUs the program still
// gets some time.
func goNext() (back func()) { return prefer(-10) }

func prefer(nice int) (back func()) {
	runtime.LockOSThread()
	thread := unix.Gettid()
	last, err := unix.Getpriority(unix.PRIO_PROCESS, thread) // 20 - nice, as the kernel returns it
	if err == nil {
		_ = unix.Setpriority(unix.PRIO_PROCESS, thread, nice) // without it is slower
	}
	return func() {
		if err != nil || unix.Setpriority(unix.PRIO_PROCESS, thread, 20-last) == nil {
			runtime.UnlockOSThread() // else the thread ends with the goroutine
		}
	}
}
