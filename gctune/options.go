package gctune

import (
	"log/slog"
	"time"

	"github.com/foliomem/folio/internal/library/gccontrol"
)

// Options of a Tuner. Nil and zero fields mean the defaults; shares are from 0 to
// 1, sizes are bytes.
type Options struct {
	// Budget is the most memory that the whole process may use. Default: the
	// lowest memory limit of its cgroups (version 1 or 2, memory.high included),
	// less what other processes in them use, less Reserve. Without a limit: a
	// quarter of the machine's available memory, this process's own included. Limits
	// are read again when the tuner wakes, at most once a second; a program whose
	// GOGC is not raised is mostly woken by its GC cycles only.
	Budget uint64

	// Reserve is the part of a cgroup's limit that GOGC keeps free for sudden
	// growth. Memory outside the Go heap is measured and needs no reserve. The
	// runtime's memory limit is 2.5% below the cgroup's: a live heap that jumps, or
	// does not fit otherwise, may use the reserve up to there.
	// Default: 5% of the limit, at most 1 GiB.
	Reserve uint64

	// Threshold is the GC share of CPU time up to which GOGC stays as it is. Default: 0.02;
	// 0.005 if memory is limited (by a cgroup, GOMEMLIMIT or Budget) and the program uses less
	// than 60% of its CPUs, as servers do: fewer requests then meet a GC cycle. Values are
	// clamped to 0.001 to 0.5. [Start] refuses negative ones, and those of 1 and more.
	Threshold float64

	// Target is the GC share that memory is spent to reach above Threshold. One above Threshold
	// counts as Threshold. Default: half of Threshold.
	Target float64

	// MemoryPerCPU is how many bytes of memory one CPU is worth. The heap grows while
	// one more byte saves CPU time that is worth more than it: up to the square root
	// of (CPU-seconds of a GC cycle x bytes allocated per second x MemoryPerCPU)
	// between two cycles, the rule of MemBalancer (Kirisame et al., "Optimal Heap
	// Limits for Reducing Browser Memory Use", OOPSLA 2022). math.MaxUint64 is no
	// bound. Default: 8 GiB where nothing limits the process (AWS Fargate charges as much for
	// a vCPU as for 9.1 GB); no bound within a memory limit of a cgroup, GOMEMLIMIT or Budget,
	// which is paid for whether it is used or not.
	MemoryPerCPU uint64

	// MaxCost is the GC share at which the memory limit is raised as the live
	// heap comes near it, clamped to between Threshold and 0.5. Default: 0.25.
	MaxCost float64

	// Floor is the least that the heap may grow between two GC cycles, in percent of the live
	// heap. Near the memory limit, where less would be left, the limit is raised. Default: 10; at
	// most 100.
	Floor int

	// Ceiling is the highest GOGC that is set, in percent. Values are clamped to 100 to
	// 1,000,000. Default: 20000.
	Ceiling int

	// MinCycle is the time between two GC cycles below which GC counts as too
	// frequent, whatever its share: each cycle empties pools, wakes threads and
	// stops the world, which is in no GC share. Then 6 times MinCycle between
	// cycles is the goal. Default: 20 ms; 10 s at most.
	MinCycle time.Duration

	// SecondP says when GOMAXPROCS is raised from 1 to 2. It has an effect only if the program
	// may run on a single CPU (by affinity; a CPU quota does not count), does not use all of
	// it, and has a heap goal of 64 MiB or more. It has none if GOMAXPROCS is set in the
	// environment, or by the program to anything but 1.
	//
	// With SecondPSweep, requests do not wait while the heap is swept; with SecondPGC, nor while
	// the GC marks, if the live heap is 32 MiB or more. Measure the latter: it reduced the 99th
	// percentile of latency of one service to 0.83 of what it was, and raised that of another
	// to 1.45. Default: SecondPOff, because code that makes an array of GOMAXPROCS parts as it
	// starts, and indexes it by the number of its P, panics when there is a second P.
	SecondP SecondP

	// Throughput returns how much work the program has done so far, in any
	// unit: requests, rows, bytes. Audits then compare work per CPU-second,
	// without it CPU time per allocated byte. It is called once in Start, by its
	// caller, and then by a goroutine of the tuner, after GC cycles and at other times, about
	// 50 times a second at most. It must be quick, and safe for use beside the program's
	// goroutines (atomic).
	Throughput func() uint64

	// OnUnmet is called, in a goroutine of its own, when the live heap does not
	// fit into the budget. Drop caches or refuse work then. It is called again
	// only if the heap fitted in between.
	OnUnmet func(Unmet)

	// Log logs changes of state and settings, at level info. Default: nothing is logged.
	Log *slog.Logger
}

// Unmet is why the budget cannot be met. Sizes are bytes.
type Unmet struct {
	Live   uint64 // heap that the last GC cycle found reachable
	Budget uint64 // for the whole process
	Short  uint64 // missing in the budget
	// Growth is the trend of the live heap in bytes per second if it has grown
	// steadily, which suggests a leak; 0 for a peak.
	Growth float64
}

func (o *Options) params() gccontrol.Params {
	return gccontrol.Params{
		Threshold: o.Threshold, Target: o.Target, MaxCost: o.MaxCost, MinCycle: o.MinCycle,
		Floor: o.Floor, Ceiling: o.Ceiling, MemoryPerCPU: o.MemoryPerCPU,
	}
}
