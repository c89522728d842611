// Package spawn starts programs so that the kernel's account of a program's
// memory begins at nothing.
//
// The kernel starts ru_maxrss of a process at the peak RSS of the memory that it
// had before its exec. A process that forks and execs in the usual way had the
// memory of whoever forked: no child of a process of 60 MiB ever seems smaller
// than 60 MiB. So a program is started by a stub, a static program of a few
// hundred bytes, which forks itself and becomes the program in the copy:
//
//	folio --vfork, exec--> stub --fork--> copy of the stub --exec--> program
//
// The copy has accounts of its own, and folio as its parent. Before it becomes the
// program it waits for a word, so that a caller knows its process id, and can
// prepare what it wants to observe, before the program runs.
package spawn
