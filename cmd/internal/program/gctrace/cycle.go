package gctrace

import "time"

// Cycle is one garbage collection as the runtime reported it.
type Cycle struct {
	N       int           // number of the GC cycle in its process, from 1
	At      time.Duration // start of the GC cycle, since the process started
	Percent int           // CPU time spent in GC since the process started

	// Wall-clock time of the three phases. The world is stopped in the first
	// and in the last.
	SweepTermClock, MarkClock, MarkTermClock time.Duration

	// CPU time. Background is that of dedicated and fractional mark workers.
	// Idle is that of mark workers on otherwise idle processors.
	SweepTermCPU, AssistCPU, BackgroundCPU, IdleCPU, MarkTermCPU time.Duration

	// Heap size in bytes at the start and at the end of the GC cycle, what of
	// it was live, and the goal of the GC cycle. The runtime prints whole MiB,
	// rounded down.
	HeapStart, HeapEnd, HeapLive, Goal uint64

	// Bytes of stacks and globals to scan, also in whole MiB.
	// Printed since Go 1.18; HasStacks says whether they were.
	Stacks, Globals uint64
	HasStacks       bool

	Procs     int  // GOMAXPROCS
	Forced    bool // started by runtime.GC
	LeakCheck bool // looked for leaked goroutines (since Go 1.26)
}

// CPU returns all the CPU time of the GC cycle, including the time of idle
// mark workers, which nothing else wanted.
func (c Cycle) CPU() time.Duration {
	return c.SweepTermCPU + c.AssistCPU + c.BackgroundCPU + c.IdleCPU + c.MarkTermCPU
}

// Clock returns for how long the GC cycle ran, by the clock.
func (c Cycle) Clock() time.Duration { return c.SweepTermClock + c.MarkClock + c.MarkTermClock }

// Pause returns for how long the GC cycle stopped the world, which it does twice.
func (c Cycle) Pause() time.Duration { return c.SweepTermClock + c.MarkTermClock }
