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

var keep = make([]byte, 32<<20)

func main() {
	debug.SetGCPercent(73)
	if len(os.Args) > 1 {
		debug.SetMemoryLimit(1 << 40)
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println(m.NumGC, m.HeapAlloc)
	}
	runtime.KeepAlive(keep)
}
