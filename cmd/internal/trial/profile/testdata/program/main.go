// Program does one kind of work at a time, each in a function of its own.
package main

import (
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"
)

type node struct {
	left, right *node
	data        [6]int
}

var (
	keep  *node
	bytes []byte
	ints  []int
	table map[int]int
	sum   uint64
)

//go:noinline
func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

//go:noinline
func objects() { keep = tree(15) }

//go:noinline
func growMap() {
	m := make(map[int]int)
	for i := range 200_000 {
		m[i] = i
	}
	table = m
}

//go:noinline
func growSlice() {
	var s []int
	for i := range 2_000_000 {
		s = append(s, i)
	}
	ints = s
}

// zeroed asks for memory that is new, and for memory that was used before: what
// it costs to zero the first is in the kernel.
//
//go:noinline
func zeroed() {
	bytes = make([]byte, 64<<20)
	for i := 0; i < 64; i++ {
		bytes = make([]byte, 1<<20)
	}
}

//go:noinline
func clearOwn() { clear(bytes) }

//go:noinline
func compute() {
	for i := range uint64(20_000_000) {
		sum += i * i >> 3
	}
}

//go:noinline
func call() {
	f, err := os.Open("/dev/zero")
	if err != nil {
		panic(err)
	}
	defer f.Close()
	var b [8]byte
	for range 50_000 {
		if _, err := f.Read(b[:]); err != nil {
			panic(err)
		}
	}
}

// switches hands a value to and fro between goroutines.
//
//go:noinline
func switches() {
	to, fro := make(chan int), make(chan int)
	go func() {
		for v := range to {
			fro <- v
		}
		close(fro)
	}()
	for i := range 50_000 {
		to <- i
		<-fro
	}
	close(to)
}

func main() {
	ms, err := strconv.Atoi(os.Args[1])
	if err != nil {
		panic(err)
	}
	work := map[string]func(){
		"objects": objects, "growMap": growMap, "growSlice": growSlice, "zeroed": zeroed, "clearOwn": clearOwn,
		"compute": compute, "call": call, "switches": switches, "collect": runtime.GC,
	}
	for _, name := range os.Args[2:] {
		if name == "clearOwn" && bytes == nil {
			bytes = make([]byte, 4<<20)
		}
		for end := used() + time.Duration(ms)*time.Millisecond; used() < end; {
			work[name]()
		}
	}
}

// used returns the CPU time of this process: that much can be sampled, however busy
// the machine is.
func used() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
