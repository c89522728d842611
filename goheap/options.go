package goheap

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/foliomem/folio/internal/base/advice"
)

// ReserveMode is how the size of a reserve is chosen.
type ReserveMode int

const (
	// ReserveFixed is a reserve of Options.Reserve bytes.
	ReserveFixed ReserveMode = iota
	// ReserveLimit is a reserve as large as GOMEMLIMIT. If the container's limit is lower, it
	// is 90% of that; if either exceeds the machine's memory, 90% of the machine's. With neither
	// GOMEMLIMIT nor a container's limit it is an error (see [Start]).
	ReserveLimit
	// ReserveAdaptive is a reserve that grows with the heap, from 64 MiB on, up to the memory
	// limit (GOMEMLIMIT, or of a cgroup). It is given up when the heap stays small, is
	// sparse, or memory is short. See the package's documentation. Without a limit there is
	// no reserve. That is an error only if it leaves nothing to do, as with NoCollapse.
	ReserveAdaptive
)

// Options are the options of [Start]. nil and zero fields are the defaults.
type Options struct {
	// Reserve is the size in bytes that the heap is expected to reach: so much of it is on
	// huge pages from the start, see the package documentation. It takes address space, and
	// about 1 MiB of memory for each GiB. It needs the THP policy madvise or always.
	// Default: no reserve.
	Reserve int64
	// ReserveMode is how the size is chosen; Reserve is for ReserveFixed only.
	// Default: ReserveFixed.
	ReserveMode ReserveMode
	// NoCollapse leaves the heap beyond the reserve as it is. Default: collapse.
	NoCollapse bool
	// MinHeap is the heap in use, in bytes, below which nothing is collapsed. 1 collapses
	// heaps of any size. Default: 256 MiB.
	MinHeap int64
	// MinDensity is the share of a window's pages that must be resident for it to be
	// collapsed, from 0.5 to 1: below 0.5 the window's memory would more than double.
	// Default: 0.8, at which it grows by a quarter at most.
	MinDensity float64
	// MaxBloat is the bloat, as a share of the memory that the runtime has in use, above
	// which it is released, from 0.01 to 1. Less than 8 MiB is never released.
	// Default: 0.05.
	MaxBloat float64
	// NoRelease keeps bloat, and so causes no GC cycles. Default: release it.
	NoRelease bool
	// Budget is the most CPU time that the advisor takes for collapsing while there is
	// something to collapse, as a share of one CPU, from 0.001 to 1. A GiB of heap takes
	// about 0.4 s of CPU time; in virtual machines whose host allocates memory at first
	// touch, up to ten times as much.
	// Default: as much as finishes within two seconds, from 0.25 to 1 of a CPU. If the
	// process has a single CPU, by GOMAXPROCS or the quota of its cgroups: at most 0.5 of it.
	// If that CPU is also idle for more than 5% of the time: as much as finishes within
	// ten seconds, from 0.02 to 0.1 of it, one window at a time.
	Budget float64
	// MaxPressure is the share of the time in which some thread may wait for
	// memory (PSI, of the own cgroup or the machine) before collapsing pauses, above
	// 0 and up to 1. Without PSI in the kernel nothing pauses.
	// Default: 0.1.
	MaxPressure float64
	// MinWait and MaxWait are the shortest and the longest time between two readings of
	// the heap's counters. MaxWait applies to heaps that cannot grow to MinHeap without a
	// GC cycle, which wakes the advisor. Others are read at least once a second.
	// Default: 250 ms, 30 s.
	MinWait, MaxWait time.Duration
	// Log logs what an operator may want to know: at level info the start, hazards, the
	// first windows that were collapsed, released memory, errors (once each); at level warn
	// that the reserve cannot be made, or was released because the program locks its memory
	// (mlockall). Default: nothing is logged.
	Log *slog.Logger
}

const (
	defaultMinHeap = 256 << 20
	minRelease     = 8 << 20
)

// withDefaults returns what o means.
func (o *Options) withDefaults() (own Options, err error) {
	if o != nil {
		own = *o
	}
	share := func(name string, v *float64, otherwise, least float64) {
		switch {
		case *v == 0:
			*v = otherwise
		case !(*v >= least && *v <= 1):
			err = errors.Join(err, fmt.Errorf("option %s is %v: want %v to 1", name, *v, least))
		}
	}
	share("MinDensity", &own.MinDensity, advice.DenseWindow, advice.LeastDenseWindow)
	share("MaxBloat", &own.MaxBloat, 0.05, 0.01)
	share("Budget", &own.Budget, 0, 0.001) // 0: see pace
	share("MaxPressure", &own.MaxPressure, 0.1, 0)
	if own.Reserve < 0 || own.Reserve > math.MaxInt/2 {
		err = errors.Join(err, fmt.Errorf("option Reserve is %d: want a size in bytes", own.Reserve))
	}
	switch {
	case own.ReserveMode < ReserveFixed || own.ReserveMode > ReserveAdaptive:
		err = errors.Join(err, fmt.Errorf("option ReserveMode is %d: want ReserveFixed, ReserveLimit or ReserveAdaptive", own.ReserveMode))
	case own.ReserveMode != ReserveFixed && own.Reserve != 0:
		err = errors.Join(err, errors.New("option Reserve is for ReserveFixed only: leave one of them out"))
	}
	if own.NoCollapse && !own.reserves() {
		err = errors.Join(err, errors.New("option NoCollapse without a reserve leaves nothing to do"))
	}
	if own.MinHeap < 0 {
		err = errors.Join(err, errors.New("option MinHeap must not be negative"))
	}
	if own.MinHeap == 0 {
		own.MinHeap = defaultMinHeap
	}
	if own.MinWait < 0 || own.MaxWait < 0 {
		err = errors.Join(err, errors.New("options MinWait and MaxWait must not be negative"))
	}
	if own.MinWait == 0 {
		own.MinWait = 250 * time.Millisecond
	}
	if own.MaxWait == 0 {
		own.MaxWait = 30 * time.Second
	}
	own.MaxWait = max(own.MaxWait, own.MinWait)
	if own.Log == nil {
		own.Log = slog.New(slog.DiscardHandler)
	}
	return own, err
}

// reserves reports whether a reserve is asked for.
func (o *Options) reserves() bool { return o.Reserve != 0 || o.ReserveMode != ReserveFixed }
