package arena

import (
	"runtime"
	"sync/atomic"
)

// inUseBytes is what the arenas hold that hold largeArena or more.
var inUseBytes atomic.Int64

const (
	// largeArena is from when on an arena is accounted for: small ones come and
	// go too often, and matter too little.
	largeArena = 1 << 20
	// largeSlab is from when on a slab is.
	largeSlab = 64 << 10
)

// held is the account of an arena with large slabs.
type held struct {
	bytes   int64        // in large slabs
	told    atomic.Int64 // what of it inUseBytes has: nothing while the arena is not large
	cleanup runtime.Cleanup
	armed   bool // there is a cleanup
}

// hold says that the arena holds n bytes more in large slabs.
func (m *more) hold(n int64) {
	if n < largeSlab {
		return
	}
	if m.held == nil {
		m.held = new(held)
	}
	h := m.held
	if h.bytes += n; h.bytes < largeArena {
		return
	}
	told := h.told.Swap(h.bytes)
	if !h.armed {
		// An arena that is never freed leaves the account when this is collected.
		h.armed = true
		h.cleanup = runtime.AddCleanup(m, func(h *held) { inUseBytes.Add(-h.told.Load()) }, h)
	}
	inUseBytes.Add(h.bytes - told)
}

// drop empties the account.
func (h *held) drop() {
	if told := h.told.Swap(0); told != 0 {
		inUseBytes.Add(-told)
	}
	h.bytes = 0
}

// end ends the account, for Free.
func (h *held) end() {
	h.drop()
	if h.armed {
		h.armed = false
		h.cleanup.Stop()
	}
}
