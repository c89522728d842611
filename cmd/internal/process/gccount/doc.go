// Package gccount counts what the GC of a Go process does, from outside: a [Reader] reads
// the memory of the process every now and then, and adds up what it finds. The process is
// neither changed nor stopped, and needs neither symbols nor GODEBUG.
//
// How many cycles there were, the time for which they stopped the world and their CPU time
// are exact however seldom it is read. The pause of each cycle is known where at most
// [goruntime.PauseRing] cycles end between two readings, and when a cycle started and what
// its heap was where it was seen as it ran, or as the last one. What nobody saw is said to be
// lost.
package gccount
