//go:build gc

package goheap

import _ "unsafe" // for linkname

// writeBarrier is the runtime's, which promises not to change it
// (go.dev/issue/67401). It is on while the GC marks, and
// nothing public tells that.
//
//go:linkname writeBarrier runtime.writeBarrier
var writeBarrier struct {
	enabled bool
	pad     [3]byte
	alignme uint64
}

// marking reports whether the GC marks just now. It may begin a moment later:
// that costs time, not correctness.
func marking() bool { return writeBarrier.enabled }
