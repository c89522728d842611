// Command cycles has the GC run, in a way and as often as its arguments say. Each time it is
// given a line after that, it prints what packages runtime and runtime/metrics say of the
// GC, as words name=value, where pauses and ends have a number for each cycle of the ring.
package main

import (
	"bufio"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"sync"
)

var names = []string{
	"/cpu/classes/gc/mark/assist:cpu-seconds",
	"/cpu/classes/gc/mark/dedicated:cpu-seconds",
	"/cpu/classes/gc/mark/idle:cpu-seconds",
	"/cpu/classes/gc/pause:cpu-seconds",
	"/cpu/classes/gc/total:cpu-seconds",
	"/gc/heap/goal:bytes",
	"/gc/heap/live:bytes",
	"/gc/cycles/total:gc-cycles",
	"/gc/cycles/forced:gc-cycles",
	"/gc/scan/stack:bytes",
	"/gc/scan/globals:bytes",
}

type node struct {
	left, right *node
	text        [32]byte
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{left: tree(depth - 1), right: tree(depth - 1)}
}

var (
	live = tree(14)
	mu   sync.Mutex
	sink []*node
	mem  runtime.MemStats
)

func cycles() uint32 {
	runtime.ReadMemStats(&mem)
	return mem.NumGC
}

// work allocates until so many cycles ended.
func work(n uint32, goroutines int) {
	var all sync.WaitGroup
	done := make(chan struct{})
	for g := 0; g < goroutines; g++ {
		all.Add(1)
		go func() {
			defer all.Done()
			for i := 0; ; i++ {
				select {
				case <-done:
					return
				default:
				}
				t := tree(10)
				mu.Lock()
				sink = append(sink[:i%100], t)
				mu.Unlock()
			}
		}()
	}
	for cycles() < n {
		runtime.Gosched()
	}
	close(done)
	all.Wait()
	sink = nil
}

func main() {
	count, _ := strconv.Atoi(os.Args[2])
	n := uint32(count)
	switch os.Args[1] {
	case "forced":
		for cycles() < n {
			runtime.GC()
		}
	case "mixed":
		work(n/2, 1)
		for cycles() < n {
			runtime.GC()
		}
	case "assist":
		debug.SetGCPercent(5)
		work(n, 8)
	case "limit":
		debug.SetGCPercent(-1)
		debug.SetMemoryLimit(16 << 20)
		work(n, 2)
	default:
		work(n, 2)
	}
	samples := make([]metrics.Sample, len(names))
	for i, name := range names {
		samples[i].Name = name
	}
	var ring [2][256]string
	for i := range ring[0] {
		ring[0][i], ring[1][i] = "PauseNs"+strconv.Itoa(i), "PauseEnd"+strconv.Itoa(i)
	}
	out := make([]byte, 0, 64<<10)
	word := func(name string, v uint64) {
		out = append(append(out, name...), '=')
		out = append(strconv.AppendUint(out, v, 10), ' ')
	}
	in := bufio.NewReader(os.Stdin)
	for {
		if _, err := in.ReadSlice('\n'); err != nil {
			break
		}
		metrics.Read(samples)
		runtime.ReadMemStats(&mem)
		out = out[:0]
		for i := range samples {
			if v := samples[i].Value; v.Kind() == metrics.KindFloat64 {
				word(names[i], uint64(v.Float64()*1e9+0.5))
			} else {
				word(names[i], v.Uint64())
			}
		}
		word("NumGC", uint64(mem.NumGC))
		word("NumForcedGC", uint64(mem.NumForcedGC))
		word("PauseTotalNs", mem.PauseTotalNs)
		word("NextGC", mem.NextGC)
		word("LastGC", mem.LastGC)
		word("HeapInuse", mem.HeapInuse)
		word("HeapIdle", mem.HeapIdle)
		word("TotalAlloc", mem.TotalAlloc)
		word("HeapReleased", mem.HeapReleased)
		word("Sys", mem.Sys)
		for i := range mem.PauseNs {
			word(ring[0][i], mem.PauseNs[i])
			word(ring[1][i], mem.PauseEnd[i])
		}
		os.Stdout.Write(append(out, '\n'))
	}
	runtime.KeepAlive(live)
}
