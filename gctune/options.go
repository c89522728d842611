package gctune

import "time"

// Options of a Tuner. Nil and zero fields mean the defaults; shares are from 0 to
// 1, sizes are bytes.
type Options struct {
	// Budget is what the whole process may use. Default: the least memory limit
	// of the cgroups of the process (version 1 or 2, memory.high included), less
	// what others in them use, less Reserve; where there is no limit, a quarter
	// of what this process and the free memory of the machine come to. It is read
	// again every second, so a limit may change.
	Budget uint64

	// Reserve is what is left free of a cgroup's limit, for what cannot be
	// foreseen: what lies outside the Go heap is measured and needs none. GOGC
	// keeps the heap out of it; the runtime's memory limit lets a live heap
	// that has jumped, or that would not fit otherwise, use all of it but a
	// fortieth of the cgroup's limit. Default: a twentieth of the limit, at most
	// 1 GiB.
	Reserve uint64

	// Leave is the share of the processor time that collection may cost before
	// anything is done. Default: 0.02.
	Leave float64

	// Target is the share that it should cost when something is done. Default:
	// half of Leave.
	Target float64

	// MaxCost is the share that collection should cost at most as the live
	// heap comes near the memory limit. Default: 0.25.
	MaxCost float64

	// Floor is the least effective GOGC near the memory limit, in percent.
	// Default: 10.
	Floor int

	// Ceiling is the most that GOGC is set to, in percent. Default: 20000.
	Ceiling int

	// MinCycle is the time between two collections below which they are taken to
	// be costly whatever the runtime's account says: each empties pools, wakes
	// threads and stops all for a moment, which is in no account. Where memory
	// is spent, 6 times as long is aimed at. Default: 20 ms.
	MinCycle time.Duration

	// Throughput returns how much work the program has done so far, in any
	// unit: requests, rows, bytes. With it the tuner judges by results whether
	// memory buys anything, and by the processor time for each allocated byte
	// without. It is called after collections, at most 50 times a second.
	Throughput func() uint64

	// OnUnmet is called, in a goroutine of its own, when the budget cannot be
	// met: there is hardly room for the live heap, or none. It is the moment to
	// drop caches or refuse work. It is called again only after there was room
	// in between.
	OnUnmet func(Unmet)

	// Logf is told of changes, in words. Default: nothing is logged.
	Logf func(format string, args ...any)
}

// Unmet is why the budget cannot be met. Sizes are bytes.
type Unmet struct {
	Live   uint64 // heap that the last collection found reachable
	Budget uint64 // for the whole process
	Short  uint64 // what the budget lacks
	// Growth is the trend of the live heap in bytes per second when it has
	// grown without a pause for a while: a leak, most likely. It is 0 for a
	// peak.
	Growth float64
}

func (o *Options) params() Params {
	return Params{
		Leave: o.Leave, Target: o.Target, MaxCost: o.MaxCost, MinCycle: o.MinCycle,
		Floor: o.Floor, Ceiling: o.Ceiling,
	}
}
