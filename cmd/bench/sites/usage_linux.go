package main

import (
	"syscall"
	"time"
)

func rusage() (ru syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru)
	return ru
}

// usage is the CPU time of this process.
func usage() time.Duration {
	ru := rusage()
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// peak is the peak RSS of this process, in bytes.
func peak() int64 { return int64(rusage().Maxrss) << 10 }
