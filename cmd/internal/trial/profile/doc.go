// Package profile says where a program's time goes: it sorts samples of a process
// tree into classes, from marking to the program's own work, and names the
// places in the program that cause what memory costs.
//
// A [Collector] takes the events of package perf while the program runs. It
// keeps addresses only: each stack once, with a count. Names are looked up at
// the end, when nobody is disturbed any more. Which function counts as what is
// a table of rules (rules.go), data that is tested against the functions that
// the runtimes of all supported Go versions have.
//
// Samples say in which proportion time was spent, the kernel's accounts say how
// much of it there was. A [Result] therefore scales the samples of user code to
// the user time of the process tree and those of the kernel to its system time,
// so that its seconds add up to what the kernel accounted for.
package profile
