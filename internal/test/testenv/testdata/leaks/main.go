// A program that leaks what its first argument says, or does something that only looks
// like it. Every step allocates garbage, so that the GC runs. It says "ready" once it does
// what it goes on doing: caches are full then.
package main

import (
	"fmt"
	"math/rand"
	_ "net/http/pprof"
	"os"
	"runtime"
	"sync"
	"time"
)

var (
	table  = map[int][]byte{}
	parts  [][]byte
	timers []*time.Timer
	ring   [64][]byte
	pool   = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}
	leakC  = func() {}
	mapped = func() {}
)

func leakMap(i int)   { table[i] = make([]byte, 32<<10) }
func leakSlice()      { parts = append(parts, make([]byte, 64<<10)[:8]) }
func leakGoroutine()  { c := make(chan int); go wait(c) }
func wait(c chan int) { <-c }
func leakTimer() {
	for i := 0; i < 200; i++ {
		timers = append(timers, time.AfterFunc(time.Hour, func() {}))
	}
}

func blockFinalizer(*[64]byte) { select {} }

func step(what string, i int) {
	switch what {
	case "map":
		leakMap(i)
	case "slice":
		leakSlice()
	case "goroutines":
		leakGoroutine()
	case "timer":
		leakTimer()
	case "malloc":
		leakC()
	case "named":
		mapped()
	case "finalizer": // the first one blocks all
		runtime.SetFinalizer(new([64]byte), blockFinalizer)
	case "finalized":
		runtime.SetFinalizer(new([64]byte), func(*[64]byte) { time.Sleep(time.Millisecond) })
	case "cache": // it is full soon
		table[i%100] = make([]byte, 32<<10)
	case "pool":
		b := pool.Get().(*[]byte)
		(*b)[0]++
		pool.Put(b)
	case "sawtooth":
		if parts = append(parts, make([]byte, 16<<10)); len(parts) > 50 {
			parts = nil
		}
	case "ring":
		ring[i%len(ring)] = make([]byte, 32<<10)
	case "bursts":
		if rand.Intn(20) == 0 {
			for range make([]struct{}, rand.Intn(100)) {
				go time.Sleep(time.Duration(rand.Intn(10)) * time.Millisecond)
			}
		}
	}
}

var garbage []byte

// warm is after how many steps it is ready: more than the entries of a cache.
const warm = 200

func main() {
	runtime.MemProfileRate = 4096
	go func() {
		os.Stdin.Read(make([]byte, 1))
		os.Exit(0)
	}()
	for i := 0; ; i++ {
		if i == warm {
			fmt.Println("ready")
		}
		step(os.Args[1], i)
		garbage = make([]byte, 1<<20)
		if i%4 == 0 {
			runtime.GC()
		}
		time.Sleep(2 * time.Millisecond)
	}
}
