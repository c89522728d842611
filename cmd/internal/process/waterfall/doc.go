// Package waterfall divides the memory of a process into parts that add up to its RSS:
// from the live heap of a Go program to files. The kernel says how much of each mapping
// is in memory (pagemap, or smaps), the runtime of the process what it has there (package
// goruntime). The process is not stopped, so the readings are of different moments; what
// changed between them is a part of its own.
//
// Package inspect reads; here is what it makes of it.
package waterfall
