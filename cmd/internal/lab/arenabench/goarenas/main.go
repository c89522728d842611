//go:build goarenas

// Goarenas does the work of package nodes in the arenas of Go's experiment and
// prints what it cost as a Go benchmark:
//
//	goarenas NAME WORK WAY SIZE COUNT
package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/lab/arenabench"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "goarenas:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 5 {
		return fmt.Errorf("want NAME WORK WAY SIZE COUNT, have %q", args)
	}
	work, way, err := arenabench.Lookup(args[1], args[2])
	if err != nil {
		return err
	}
	size, err := strconv.ParseUint(args[3], 10, 63)
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[4])
	if err != nil {
		return err
	}
	r, err := work.Do(way, size, count)
	if err != nil {
		return err
	}
	fmt.Printf("Benchmark%s/size=%d 1", args[0], size)
	for _, f := range r.Figures() {
		fmt.Printf(" %g %s", f.Value, f.Key)
	}
	fmt.Println()
	return nil
}
