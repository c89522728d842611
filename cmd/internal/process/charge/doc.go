// Package charge divides what a memory cgroup is charged for into parts that add up to
// memory.current, or memory.usage_in_bytes in version 1: memory of its processes by what it is
// for (package waterfall), shared memory and tmpfs, the page cache, what is charged and mapped by
// no process, and the kernel's own. What nothing accounts for is a part of its own.
//
// The kernel counts a charge by kind, and knows no process of it; what processes have in memory
// is counted by page tables, which know no charge. So anonymous memory is what the kernel counts,
// divided by what the processes have: see [Charge.Apart] for what they have beyond it.
//
// Reading takes a process no more than package inspect does: nothing is stopped, and page tables
// are walked in pieces.
package charge
