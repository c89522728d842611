// Malloc times the allocation of objects of several kinds, and prints what each
// takes as a Go benchmark:
//
//	malloc NAME SIZE MILLISECONDS
//
// SIZE is that of the largest object, in bytes. Each kind is allocated for about
// as long as MILLISECONDS says.
//
// The shapes are those of the benchmarks Malloc8, Malloc16, MallocTypeInfo8,
// MallocTypeInfo16 and MallocLargeStruct of Go's package runtime, and of objects
// up to 32 KiB without pointers and with nothing but pointers.
package main

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "malloc:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return fmt.Errorf("want NAME SIZE MILLISECONDS, have %q", args)
	}
	size, err := strconv.ParseUint(args[1], 10, 63)
	if err != nil {
		return err
	}
	millis, err := strconv.Atoi(args[2])
	if err != nil || millis < 1 {
		return fmt.Errorf("want milliseconds, have %q", args[2])
	}
	fmt.Printf("Benchmark%s/size=%d 1", args[0], size)
	for _, k := range kinds {
		if k.size <= size {
			fmt.Printf(" %g %s_seconds", measure(k.allocate, time.Duration(millis)*time.Millisecond), k.name)
		}
	}
	fmt.Println()
	return nil
}

// pieces is into how many runs the time of a kind is cut. The middle one counts, so
// that what disturbs one or two of them does not.
const pieces = 5

// measure returns the seconds that each of so many calls takes as fill about the
// time given.
func measure(allocate func(n int), length time.Duration) float64 {
	length /= pieces
	n, took := 100, time.Duration(0)
	for {
		// These tries find the number, and warm up.
		took = timed(allocate, n)
		if took >= length*9/10 {
			break
		}
		// Towards the length, but never trust a try that was too short to tell.
		n = min(int(float64(n)*float64(length)/float64(took+1)), 100*n) + 1
	}
	all := []time.Duration{took}
	for len(all) < pieces {
		all = append(all, timed(allocate, n))
	}
	slices.Sort(all)
	return all[pieces/2].Seconds() / float64(n)
}

// timed returns how long n objects take, from an empty heap on, with the sweep of
// what was before done.
func timed(allocate func(n int), n int) time.Duration {
	runtime.GC()
	begun := time.Now()
	allocate(n)
	return time.Since(begun)
}
