package goheap

import (
	"runtime/metrics"
	"sync/atomic"
)

// probe holds an object on the heap: advisors may look for theirs at the same time.
var probe atomic.Pointer[[64]byte]

// heapState is what the runtime says about its heap, in bytes.
type heapState struct {
	mapped   uint64 // for reading and writing, whether used, free or released
	released uint64 // of that, released or never used: not in memory, as far as the runtime knows
	free     uint64 // of that, neither used nor released
	objects  uint64 // used by objects, dead ones included
	other    uint64 // metadata, some of which is in the heap's mappings too
	cycles   uint64 // GC cycles that are complete
	goal     uint64 // size of the objects at which the next GC cycle is done by
	limit    uint64 // GOMEMLIMIT
	total    uint64 // all that the runtime has mapped, heap included, and not released
}

// committed is what may be in memory for a reason.
func (h heapState) committed() uint64 { return sub(h.mapped, h.released) }

// readHeap reads counters; the program is not stopped.
func readHeap() heapState {
	s := [...]metrics.Sample{
		{Name: "/memory/classes/heap/objects:bytes"},
		{Name: "/memory/classes/heap/unused:bytes"},
		{Name: "/memory/classes/heap/free:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
		{Name: "/gc/cycles/total:gc-cycles"},
		{Name: "/gc/gomemlimit:bytes"},
		{Name: "/memory/classes/total:bytes"},
		{Name: "/gc/heap/goal:bytes"},
	}
	metrics.Read(s[:])
	v := func(i int) uint64 {
		if s[i].Value.Kind() != metrics.KindUint64 {
			return 0 // a runtime that lacks it
		}
		return s[i].Value.Uint64()
	}
	return heapState{
		mapped:   v(0) + v(1) + v(2) + v(3) + v(4),
		released: v(4), free: v(2), objects: v(0), other: v(5), cycles: v(6), limit: v(7),
		total: sub(v(8), v(4)), goal: v(9),
	}
}
