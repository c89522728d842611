// Command metrics has memory of many kinds. Each time it is given a line, it prints what
// package runtime/metrics says of it, in the order of names, without allocating. With the
// argument churn it allocates all the time. A line that is not empty makes it begin itself
// again.
package main

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"syscall"
)

var names = []string{
	"/memory/classes/heap/objects:bytes",
	"/memory/classes/heap/unused:bytes",
	"/memory/classes/heap/free:bytes",
	"/memory/classes/heap/released:bytes",
	"/memory/classes/heap/stacks:bytes",
	"/memory/classes/os-stacks:bytes",
	"/memory/classes/metadata/mcache/free:bytes",
	"/memory/classes/metadata/mcache/inuse:bytes",
	"/memory/classes/metadata/mspan/free:bytes",
	"/memory/classes/metadata/mspan/inuse:bytes",
	"/memory/classes/metadata/other:bytes",
	"/memory/classes/other:bytes",
	"/memory/classes/profiling/buckets:bytes",
	"/memory/classes/total:bytes",
	"/gc/heap/allocs:bytes",
	"/gc/heap/live:bytes",
	"/gc/heap/objects:objects",
	"/gc/cycles/total:gc-cycles",
}

type node struct {
	next *node
	text [40]byte
}

var (
	list    *node
	keep    [][]byte
	outside = func() {} // with cgo: memory of the C library
	sink    [][]byte
)

// filled is memory that is in memory.
func filled(n int) []byte {
	b := make([]byte, n)
	for i := 0; i < n; i += 512 {
		b[i] = 1
	}
	return b
}

// deep has a stack of some KiB.
func deep(n int, wait chan int) int {
	var b [128]byte
	if n == 0 {
		return <-wait
	}
	b[n] = 1
	return deep(n-1, wait) + int(b[n])
}

func main() {
	// What a cycle amid the loops frees would be used again: how many holes are left would
	// depend on when it runs.
	percent := debug.SetGCPercent(-1)
	for i := 0; i < 400000; i++ {
		list = &node{next: list}
	}
	keep = append(keep, filled(16<<20))
	for i := 0; i < 64; i++ {
		keep = append(keep, filled(100<<10))
	}
	// Holes: of the objects of 512 bytes one of eight is kept.
	for i := 0; i < 60000; i++ {
		b := filled(512)
		if i%8 == 0 {
			keep = append(keep, b)
		}
	}
	sink = append(sink, filled(24<<20)) // free pages, once it is dropped
	wait := make(chan int)
	for i := 0; i < 1000; i++ {
		go deep(60, wait)
	}
	outside()
	sink = nil
	debug.SetGCPercent(percent)
	runtime.GC()
	runtime.GC()
	if len(os.Args) > 1 && os.Args[1] == "churn" {
		go churn()
	} else {
		debug.SetGCPercent(-1)
		for i := 0; i < 20000; i++ {
			sink = append(sink[:i%100], filled(400)) // garbage
		}
	}
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	out := make([]byte, 0, 4096)
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			break
		}
		if len(line) > 1 { // begin again
			if err := syscall.Exec("/proc/self/exe", os.Args, os.Environ()); err != nil {
				panic(err)
			}
		}
		metrics.Read(samples)
		out = out[:0]
		for i := range samples {
			out = append(append(out, names[i]...), '=')
			out = append(strconv.AppendUint(out, samples[i].Value.Uint64(), 10), ' ')
		}
		os.Stdout.Write(append(out, '\n'))
	}
	runtime.KeepAlive(list)
	runtime.KeepAlive(keep)
}

func churn() {
	for i := 0; ; i++ {
		sink = append(sink[:i%200], filled(1000+i%100000))
	}
}
