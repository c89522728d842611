// Package livegc sets the GC of processes that run: GOGC and GOMEMLIMIT, from outside, for
// good or for a while. How, and why a process can bear that: see [goruntime.Setter].
package livegc
