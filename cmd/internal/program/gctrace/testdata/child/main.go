// Command child collects garbage and writes text to stderr from two goroutines at
// the same time. It repeats the text on stdout, where no trace gets in between,
// and writes the number of its GC cycles to the file named by its argument.
//
//	child FILE
package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

var (
	mu   sync.Mutex
	sink [64][]byte
)

func say(s string) {
	mu.Lock()
	defer mu.Unlock()
	os.Stderr.WriteString(s)
	os.Stdout.WriteString(s)
}

func main() {
	file := os.Args[1]
	// What the runtime could have written as a piece of a line makes it unclear whose piece is
	// whose. So these come while there is no GC cycle.
	debug.SetGCPercent(-1)
	for _, s := range []string{"5", "12", "\n", "0.15", " @", "+", "g", "c", "\n"} {
		say(s)
	}
	debug.SetGCPercent(100)
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			k := strconv.Itoa(i)
			say([]string{
				"gc is fun\n", "gc 12 apples\n", "BenchmarkX-" + k + "   \t", "  100\t  123 ns/op\n", "loading",
				" ... ", "done " + k + "\n", "the gc\n", "scvg\n", "scvgs " + k + "\n", "x\n\n", "gc 1 @0.021s 0%: done\n",
			}[i%12])
			if i%8 == 0 {
				time.Sleep(200 * time.Microsecond)
			}
		}
	})
	for i := range 100000 {
		sink[i%len(sink)] = make([]byte, 4096)
	}
	runtime.GC()
	close(stop)
	wg.Wait()
	debug.SetGCPercent(-1)
	runtime.GC()
	// ReadMemStats waits until the last trace line is out.
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	if err := os.WriteFile(file, []byte(strconv.Itoa(int(m.NumGC))), 0o644); err != nil {
		panic(err)
	}
}
