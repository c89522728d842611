// Command worker is one of the workloads that command goheap measures. It imports
// package auto, which does what the environment variable FOLIO says.
//
// Its standard output has one line of JSON for each phase; after the phase
// "ready" it goes on when it reads a line, so that whoever measures can
// do something to its heap meanwhile, or not.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/foliomem/folio/auto"
)

var workloads = map[string]func(*worker) error{"map": lookups, "sparse": sparse, "shrink": shrink}

func main() {
	w := &worker{in: bufio.NewScanner(os.Stdin)}
	name := flag.String("workload", "map", "map, sparse or shrink")
	flag.IntVar(&w.entries, "entries", 8_000_000, "entries of the map")
	flag.DurationVar(&w.settle, "settle", 6*time.Second, "how long to go on working before the figures count")
	flag.Parse()
	if err := w.run(*name); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

type worker struct {
	in      *bufio.Scanner
	entries int
	settle  time.Duration
}

func (w *worker) run(name string) error {
	do, ok := workloads[name]
	if !ok {
		return fmt.Errorf("no workload %q", name)
	}
	if err := do(w); err != nil {
		return err
	}
	// What the advisor did, for whoever wonders.
	if h := auto.Heap(); h != nil && os.Getenv("FOLIO_BENCH_STATS") != "" {
		fmt.Fprintf(os.Stderr, "%+v\n", h.Stats())
	}
	return nil
}

// say ends a phase, with its figures: times in seconds.
func (w *worker) say(phase string, figures map[string]float64) error {
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"phase": phase, "figures": figures})
}

// await waits for a line.
func (w *worker) await() error {
	if !w.in.Scan() {
		return fmt.Errorf("nobody measures any more: %v", w.in.Err())
	}
	return nil
}
