// Command peers has heaps that nobody shaped for Folio: a cache of user profiles by
// ristretto, and an in-memory index of Go source files by bleve. It is a module of
// its own, so that they are not dependencies of Folio. See command worker for how it
// is told what to do.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/metrics"
	"slices"
	"syscall"
	"time"

	_ "github.com/foliomem/folio/auto"
)

var (
	name   = flag.String("workload", "cache", "cache or index")
	size   = flag.Int("size", 0, "profiles, or Go source files (default 4 million, 1500)")
	settle = flag.Duration("settle", 8*time.Second, "how long to go on reading before the figures count")
)

func main() {
	flag.Parse()
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run() error {
	in := bufio.NewScanner(os.Stdin)
	await := func() error {
		if !in.Scan() {
			return errors.New("nobody measures any more")
		}
		return nil
	}
	w, ok := workloads[*name]
	if !ok {
		return fmt.Errorf("no workload %q", *name)
	}
	if *size == 0 {
		*size = w.size
	}
	began := time.Now()
	work, err := w.build(*size)
	if err != nil {
		return err
	}
	elapsed := time.Since(began).Seconds()
	faults, user, sys := used()
	say("ready", map[string]float64{
		"build": elapsed, "build faults": faults, "build user": user, "build sys": sys,
	})
	if err := await(); err != nil {
		return err
	}
	r := rand.New(rand.NewPCG(1, 2))
	for end := time.Now().Add(*settle); time.Now().Before(end); {
		if err := work(r); err != nil {
			return err
		}
	}
	var times []float64
	for range w.count {
		began := time.Now()
		if err := work(r); err != nil {
			return err
		}
		times = append(times, time.Since(began).Seconds()/float64(w.batch))
	}
	slices.Sort(times)
	var gc []float64
	for range 5 {
		began := time.Now()
		runtime.GC()
		gc = append(gc, time.Since(began).Seconds())
	}
	slices.Sort(gc)
	time.Sleep(3 * time.Second) // the runtime's scavenger releases what is too much
	faults, user, sys = used()
	say("done", map[string]float64{
		"op": times[len(times)/2], "p99": times[len(times)*99/100], "gc": gc[len(gc)/2],
		"faults": faults, "user": user, "sys": sys, "live": live(),
	})
	err = await()
	runtime.KeepAlive(work)
	return err
}

// A workload builds what it keeps, and returns what is done with it again and
// again: a batch of reads.
type workload struct {
	size, batch, count int
	build              func(size int) (work func(*rand.Rand) error, err error)
}

var workloads = map[string]workload{
	"cache": {4_000_000, cacheBatch, 8000, cache},
	"index": {1500, 1, 3000, index},
}

func say(phase string, figures map[string]float64) {
	_ = json.NewEncoder(os.Stdout).Encode(map[string]any{"phase": phase, "figures": figures})
}

func used() (faults, user, sys float64) {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return float64(u.Minflt), float64(u.Utime.Nano()) / 1e9, float64(u.Stime.Nano()) / 1e9
}

// live is what the last GC cycle left.
func live() float64 {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(s)
	return float64(s[0].Value.Uint64())
}
