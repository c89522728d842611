// Package livegc changes GOGC and GOMEMLIMIT of running Go programs from outside, for good or
// for a while. [goruntime.Setter] says how, and why that is safe.
package livegc
