// Package auto, when imported, puts a large heap on huge pages and tunes GOGC within the
// container's memory:
//
//	import _ "github.com/foliomem/folio/auto"
//
// Import it in services; with a memory limit it gains most. Small or short programs gain nothing.
//
//   - Huge pages (package [goheap]): with a memory limit, of the container or GOMEMLIMIT, and
//     the THP policy madvise, for heaps above 64 MiB; otherwise, from Linux 6.1 on, for the
//     dense parts of heaps of 256 MiB or more.
//   - The memory limit of the runtime (GOMEMLIMIT) is set at once, whatever the GC costs: 2.5%
//     below that of the container, less memory outside the runtime; without one, to a quarter of
//     the machine's available memory, this process's own included. It rises when the live heap
//     nears it.
//   - GOGC (package [gctune]): unchanged if the GC takes less than 2% of the program's CPU
//     time, or less than 0.5% if memory is limited and the program uses less than 60% of its
//     CPUs, as servers do. Else the heap grows until the GC takes half of that: with a limit,
//     up to the limit, even if little of the heap is live; without one, up to a quarter of
//     the machine's available memory, this process's own included, while the CPU time saved is
//     worth more than the memory (percpu below).
//   - A GOGC or GOMEMLIMIT that is set, by the environment or the program, is left alone.
//
// RSS rises, up to the limit: to twice as much and more. FOLIO=log=on logs each change; [Heap] and
// [Tuner] return what was done.
//
// The environment variable FOLIO is all that configures it, except for the memory budget:
// [gctune.Tuner.SetBudget] of [Tuner] changes that at any time. A program that needs other
// options, such as gctune.Options.OnUnmet, calls [gctune.Start] and [goheap.Start] instead of
// importing this package: while those of this package run, both return ErrStarted.
//
// FOLIO has settings separated by commas, for example FOLIO=heap=collapse,reserve=4GiB,log=on:
//
//	setting        default   meaning
//	off                      nothing is started (also all=off)
//	heap=MODE      collapse  collapse: dense parts of the heap are put on huge pages;
//	                         reserve: the reserve only; off: neither
//	reserve=SIZE   adaptive  the heap grows into huge pages up to this size from the
//	                         start; limit: GOMEMLIMIT, or 90% of the container's limit
//	                         (the default of heap=reserve); adaptive: within such a
//	                         limit, from 64 MiB on, given up if the heap stays small or
//	                         sparse, or memory is short; 0: none
//	minheap=SIZE   256MiB    smaller heaps are not collapsed
//	density=SHARE  0.8       windows that are less full are not collapsed, 0.5 to 1
//	bloat=SHARE    0.05      unused memory that huge pages may take, 0.01 to 1
//	release=on|off on        release memory when there is more bloat than that
//	budget=SHARE   adaptive  the most of one CPU that collapsing takes, 0.001 to 1;
//	                         adaptive: as much as finishes in two seconds, from 0.25 to
//	                         1; on a single CPU at most 0.5, and if that is partly
//	                         idle what finishes in ten seconds, from 0.02 to 0.1
//	gc=on|off      on        tune the GC
//	percpu=SIZE    8GiB      memory that one CPU is worth: the heap grows while that saves
//	                         CPU time worth more. 0: no bound (the default within a limit)
//	secondp=WHEN   off       when GOMAXPROCS is 2 in a program that may run on one CPU
//	                         only (a CPU quota does not count), and leaves it partly idle.
//	                         sweep: while the heap is swept after a GC cycle; gc: also
//	                         while the GC marks, which lengthens the tail latency of some
//	                         servers; off: never
//	log=on|off     off       log to standard error
//	arenadebug=on|off  off   read by package arena
//
// Sizes are as in GOMEMLIMIT: 512MiB, 4GiB, or bytes. Unknown or invalid settings are
// reported once on standard error, and ignored. What cannot be started, such as huge pages on a
// system without them, is reported there too, but only if FOLIO is set.
//
// It needs Go 1.26. The heap is put on huge pages on Linux only: dense parts from Linux 6.1
// on. GOGC is tuned on every system.
//
// What it does to the heap, and the hazards:
// https://github.com/foliomem/folio/blob/main/docs/goheap.md.
//
// # Deadlocks
//
// While it runs, the Go runtime does not detect that all goroutines of a program wait forever
// ("all goroutines are asleep - deadlock!"), because goroutines of this package wait on timers.
// The same holds for programs that use a time.Ticker, os/signal or the network. FOLIO=off
// restores the detection.
//
// # In tests
//
// In a test binary nothing is started unless FOLIO is set, so that leak detectors find none
// of its goroutines; FOLIO=all=on starts the defaults. The go command marks test binaries. For
// tests that other tools such as Bazel build, set FOLIO=off. Programs that a test starts are
// not test binaries.
package auto
