// Command sparse fills a heap, lets go of all but one of 64 blocks, returns the rest
// to the OS, and prints its resident memory: at the peak, then, and after a time.
package main

import (
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

const block = 16 << 10

func main() {
	mib, err := strconv.Atoi(os.Args[1])
	wait, err2 := time.ParseDuration(os.Args[2])
	if err != nil || err2 != nil {
		fmt.Fprintln(os.Stderr, "sparse: want MiB and a duration")
		os.Exit(2)
	}
	blocks := make([][]byte, mib<<20/block)
	for i := range blocks {
		b := make([]byte, block)
		for k := 0; k < block; k += 4096 {
			b[k] = 1
		}
		blocks[i] = b
	}
	peak := resident()
	for i := range blocks {
		if i%64 != 0 {
			blocks[i] = nil
		}
	}
	debug.FreeOSMemory()
	shrunk := resident()
	time.Sleep(wait)
	fmt.Println(peak, shrunk, resident())
	runtime.KeepAlive(blocks)
}

func resident() int64 {
	data, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(data), "\n") {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "VmRSS:" {
			n, _ := strconv.ParseInt(f[1], 10, 64)
			return n << 10
		}
	}
	return 0
}
