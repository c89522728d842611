// Package layout says where the Go runtime of a program keeps what it knows: which
// fields its structures have, and at which addresses its variables are.
//
// Fields come from a table of Go versions and processors, which cmd/bench/layouts makes
// of the debug information of a program built by each toolchain. Variables come from
// the instructions of the runtime's own functions, which every Go program names in the
// table for its stack traces. So neither symbols nor debug information have to be in
// the program's file: most are built without (-ldflags=-s -w).
//
// What was found this way is likely, not proven: package goruntime checks it against
// the memory of the process before it believes any of it.
package layout
