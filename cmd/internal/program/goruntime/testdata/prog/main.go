// Command prog collects each time it is given a line, and says what its runtime
// knows then.
package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
)

// limit is there from Go 1.19 on.
var limit = func() { panic("no memory limit") }

// waiting is how many goroutines wait for ever.
const waiting = 10_000

var keep = make([]byte, 32<<20)

func main() {
	debug.SetGCPercent(73)
	if len(os.Args) > 1 {
		limit()
	}
	for i := 0; i < waiting; i++ {
		go func() { select {} }()
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println(m.NumGC, m.HeapAlloc, m.StackInuse)
	}
	runtime.KeepAlive(keep)
}
