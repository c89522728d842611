// Command peers runs one workload under one tuner of the GC and prints
// what was done, as JSON. Command gctune builds it, in a module of its own so that
// the peers are not dependencies of Folio.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"log/slog"
	mathrand "math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/KimMachineGun/automemlimit/memlimit"
	ratio "github.com/bytedance/gopkg/util/gctuner"

	"github.com/foliomem/folio/gctune"
)

var (
	name     = flag.String("workload", "json", "which")
	tuner    = flag.String("tuner", "none", "none, automemlimit, ratio or folio")
	limit    = flag.Uint64("limit", 1<<30, "memory limit in bytes")
	inside   = flag.Bool("inside", false, "the limit is that of the cgroup: a tuner finds it itself")
	warm     = flag.Duration("warm", time.Second, "time that does not count; more while the heap has not been as large as it gets")
	touch    = flag.Uint64("touch", 0, "use so many bytes once, and nothing else")
	duration = flag.Duration("time", 5*time.Second, "time that counts")
	whole    = flag.Bool("whole", false, "count from the end of a GC cycle to the end of another, or whole passes of a workload that has passes")
	talk     = flag.Bool("v", false, "log the tuner's changes")
)

func main() {
	flag.Parse()
	if *touch > 0 {
		for b, i := make([]byte, *touch), 0; i < len(b); i += os.Getpagesize() {
			b[i] = 1
		}
		return
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

// done is the work so far; passes is how often a workload has begun anew, of those that
// become slower as they go on and then start again.
var done, passes atomic.Uint64

func tune() (stop func(), err error) {
	switch *tuner {
	case "none":
	case "automemlimit":
		opts := []memlimit.Option{}
		if !*inside {
			opts = append(opts, memlimit.WithProvider(memlimit.Limit(*limit)))
		}
		_, err = memlimit.Set(opts...)
	case "ratio":
		// As its documentation recommends.
		ratio.Tuning(*limit / 10 * 7)
	case "folio", "folio-work":
		o := &gctune.Options{}
		if !*inside {
			o.Budget = *limit / 10 * 9
		}
		if *talk {
			o.Log = slog.Default()
		}
		if *tuner == "folio-work" {
			o.Throughput = done.Load
		}
		t, err := gctune.Start(o)
		if err != nil {
			return nil, err
		}
		return func() {
			if *talk {
				log.Printf("%+v", t.Stats())
			}
			t.Stop()
		}, nil
	default:
		err = fmt.Errorf("no tuner %q", *tuner)
	}
	return func() {}, err
}

func run() error {
	stop, err := tune()
	if err != nil {
		return err
	}
	defer stop()
	w, ok := workloads[*name]
	if !ok {
		return fmt.Errorf("no workload %q", *name)
	}
	work, err := w(*limit)
	if err != nil {
		return err
	}
	var quit atomic.Bool
	var wg sync.WaitGroup
	for i := range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			r := mathrand.New(mathrand.NewPCG(uint64(i), 7))
			for !quit.Load() {
				done.Add(uint64(work(i, r)))
			}
		})
	}
	warmUp()
	edge()
	faulted := minorFaults()
	begin, from, usage, gc, cycles := time.Now(), done.Load(), cpu(), collector(), collections()
	time.Sleep(*duration)
	edge()
	elapsed := time.Since(begin).Seconds()
	out := map[string]float64{
		"faults": (minorFaults() - faulted) / max(float64(done.Load()-from), 1),
		"rate":   float64(done.Load()-from) / elapsed, "cpu": (cpu() - usage) / elapsed,
		"gc": (collector() - gc) / (cpu() - usage), "cycles": float64(collections()-cycles) / elapsed,
	}
	quit.Store(true)
	wg.Wait()
	out["gogc"] = float64(debug.SetGCPercent(100))
	return json.NewEncoder(os.Stdout).Encode(out)
}

// warmUp waits until the heap has been as large as it gets: a page that is used for
// the first time costs much, above all in a virtual machine, and a program that
// runs for long pays for it once. It waits for six seconds at most: the heaps of some arms
// shrink and grow for ever.
func warmUp() {
	const step, few = 250 * time.Millisecond, 500 // that many faults cost a percent or less
	begin, faults := time.Now(), minorFaults()
	for calm := 0; time.Since(begin) < *warm || calm < 2 && time.Since(begin) < 6*time.Second; {
		time.Sleep(step)
		now := minorFaults()
		if calm++; now-faults > few {
			calm = 0
		}
		faults = now
	}
}

// edge waits for the end of a GC cycle, so that what counts is whole periods of
// the GC: else a window with one GC cycle more or less decides, where
// there are few. It waits for five seconds at most: some arms hardly collect. Of a
// workload in passes, only whole ones can be compared.
func edge() {
	if !*whole {
		return
	}
	count, most := collections, 5*time.Second
	if passes.Load() > 0 {
		count, most = passes.Load, time.Minute
	}
	n := count()
	for end := time.Now().Add(most); count() == n && time.Now().Before(end); {
		time.Sleep(2 * time.Millisecond)
	}
}

func cpu() float64 {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru) // it cannot fail
	return float64(ru.Utime.Nano()+ru.Stime.Nano()) / 1e9
}

func minorFaults() float64 {
	var ru syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru) // it cannot fail
	return float64(ru.Minflt)
}

func collector() float64 {
	s := []metrics.Sample{{Name: "/cpu/classes/gc/total:cpu-seconds"}}
	metrics.Read(s)
	return s[0].Value.Float64()
}

func collections() uint64 {
	s := []metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}
