// Package goruntime reads what the Go runtime of another process keeps about
// its heap and collector, from the memory of that process. Nothing is stopped,
// and nothing is written.
//
// There are two ways. [Attach] needs neither symbols nor debug information: package
// layout says where the runtime's variables are and what is in them, for Go 1.21 on. It
// reads statistics, every page of the heap, the runtime's own memory, and where goroutines
// and profiles are. What it reads is checked against what the runtime keeps twice, so
// that a layout that is not known does not pass for one that is.
//
// [Open] goes by the symbols and the debug information (DWARF) of the program's own file,
// so no layout is guessed, also for versions of Go that package layout does not know: a
// program that was built without them (-ldflags=-s or -w) cannot be read. A check that the
// program's version of Go is found where it must be keeps a wrong address from going
// unnoticed.
package goruntime
