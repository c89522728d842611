// Package goruntime reads what the Go runtime of another process keeps about
// its heap and collector, from the memory of that process. Nothing is stopped,
// and nothing is written.
//
// Where the variables are and what is in them comes from the symbols and the
// debug information (DWARF) of the program's own file, so no layout is guessed:
// a program that was built without them (-ldflags=-s or -w) cannot be read. A
// check that the program's version of Go is found where it must be keeps a wrong
// address from going unnoticed.
package goruntime
