// Command target is a program that looks things up in a large map, for cmd/bench/collapse.
// It prints "ready" once the map is filled. For every line that it reads it prints
// what its operations took since the last one, as JSON, and begins anew; it ends
// with its input.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// lookups are made by one operation: a request that takes some 40 µs.
const lookups = 256

// Phase is what the operations of a while took.
type Phase struct {
	Seconds float64 `json:"seconds"`
	Ops     int     `json:"ops"`
	Median  float64 `json:"median_seconds"`
	P99     float64 `json:"p99_seconds"`
	P999    float64 `json:"p999_seconds"`
	Max     float64 `json:"max_seconds"`
}

func main() {
	entries := flag.Int("entries", 8_000_000, "entries of the map")
	touch := flag.Int("touch", 0, "no map: hold so many bytes of heap, and wait")
	flag.Parse()
	if *touch > 0 {
		hold(*touch)
		return
	}
	m := make(map[uint64]uint64)
	for i := range *entries {
		m[uint64(i)*0x9e3779b97f4a7c15] = uint64(i)
	}
	lines := make(chan struct{})
	go func() {
		for s := bufio.NewScanner(os.Stdin); s.Scan(); {
			lines <- struct{}{}
		}
		close(lines)
	}()
	fmt.Println("ready")
	rng := rand.New(rand.NewPCG(1, 2))
	took := make([]time.Duration, 0, 1<<22)
	out := json.NewEncoder(os.Stdout)
	begin := time.Now()
	sum := uint64(0)
	for last := begin; ; {
		select {
		case _, ok := <-lines:
			if !ok {
				return
			}
			if err := out.Encode(phase(took, time.Since(begin))); err != nil {
				os.Exit(1)
			}
			took = took[:0]
			begin = time.Now()
			last = begin
		default:
		}
		for range lookups {
			sum += m[uint64(rng.IntN(*entries))*0x9e3779b97f4a7c15]
		}
		runtime.KeepAlive(make([]byte, 256+sum%256)) // an answer
		now := time.Now()
		if len(took) < cap(took) {
			took = append(took, now.Sub(last))
		}
		last = now
	}
}

// hold has heap on base pages until its input ends.
func hold(bytes int) {
	debug.SetGCPercent(-1)
	b := make([]byte, bytes)
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	fmt.Println("ready")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	runtime.KeepAlive(b)
}

func phase(took []time.Duration, d time.Duration) Phase {
	slices.Sort(took)
	at := func(q float64) float64 {
		if len(took) == 0 {
			return 0
		}
		return took[min(int(q*float64(len(took))), len(took)-1)].Seconds()
	}
	return Phase{Seconds: d.Seconds(), Ops: len(took), Median: at(0.5), P99: at(0.99), P999: at(0.999), Max: at(1)}
}
