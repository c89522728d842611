// Command prog allocates for 40 ms of CPU time, prints a figure, and writes its
// allocation profile.
package main

import (
	"fmt"
	"os"
	"runtime/pprof"
	"syscall"
	"time"
)

type node struct {
	next *node
	_    [6]uint64
}

var sink *node

func main() {
	for used() < 40*time.Millisecond {
		for i := range 10_000 {
			n := &node{}
			if i%1000 != 0 {
				n.next = sink
			}
			sink = n
		}
	}
	fmt.Println("123.5 op/s; 123.5, op/s")
	f, err := os.Create("allocs.pprof")
	if err != nil {
		panic(err)
	}
	if err := pprof.Lookup("allocs").WriteTo(f, 0); err != nil {
		panic(err)
	}
	if err := f.Close(); err != nil {
		panic(err)
	}
}

// used is the CPU time so far.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
