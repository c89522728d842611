// Package ballast marks heap that a package of Folio allocates, never writes to, and drops
// at once: to grow the heap's address space, or to have the runtime release memory again.
// The runtime counts it as allocated, as live if a GC cycle comes in between, and its GC
// cycles as the program's. Whoever judges the program by these counts has to leave it out.
package ballast

import (
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

var (
	mu                sync.RWMutex
	allocated, cycles atomic.Uint64
)

// Drop runs f, which allocates ballast, returns its size in bytes, and ends with a GC
// cycle in which it is dropped.
func Drop(f func() uint64) {
	mu.Lock()
	defer mu.Unlock()
	before := unforced()
	allocated.Add(f())
	cycles.Add(unforced() - before)
}

// unforced counts GC cycles that nobody asked for.
func unforced() uint64 {
	s := [...]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}, {Name: "/gc/cycles/forced:gc-cycles"}}
	metrics.Read(s[:])
	if s[0].Value.Kind() != metrics.KindUint64 || s[1].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64() - s[1].Value.Uint64()
}

// Read runs f, which reads the runtime's counts, while there is no ballast. The arguments
// are how much of all allocated bytes, and of the GC cycles that nobody asked for, were
// for ballast.
func Read(f func(allocatedBytes, gcCycles uint64)) {
	mu.RLock()
	defer mu.RUnlock()
	f(allocated.Load(), cycles.Load())
}
