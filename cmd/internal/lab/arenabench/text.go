package arenabench

import "unsafe"

// asString returns b as a string, without a copy.
func asString(b []byte) string {
	// Safety: the callers have just made b, and nobody else has it: it is not
	// written to any more. The string keeps its memory alive.
	return unsafe.String(unsafe.SliceData(b), len(b))
}
