// Package callsite says which lines of a Go program keep memory, and which start
// goroutines: of a process, from its runtime's own heap profile and its goroutines as
// package goruntime reads them, and of profiles in pprof's format, which it reads and
// writes.
package callsite
