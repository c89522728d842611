// Package leak watches a process and says what of it keeps growing: lines of the
// program whose objects stay, goroutines, memory outside of Go. What grows and then stays,
// what rises and falls, and what only seems to grow because the heap profile is a sample
// does not count.
package leak
