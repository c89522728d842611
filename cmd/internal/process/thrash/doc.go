// Package thrash watches running Go programs for GC thrashing: the memory limit leaves the live
// heap so little room that the GC runs all the time, and the program neither works nor is killed
// (golang/go#58106). It saves evidence, says so, and does what was chosen.
//
// It reads the memory of the process once a second, in one or two system calls; no thread of the
// process is stopped.
package thrash
