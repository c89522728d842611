// Command arena compares Folio's arenas with the other ways to allocate, in Go, C
// and Rust.
//
//	go run ./cmd/bench/arena -trees [-depth 21] [-rounds 10] [-only REGEXP]
//	go run ./cmd/bench/arena -objects [-rounds 5] [-smallest 1024] [-largest 1073741824]
//	go run ./cmd/bench/arena -scaling [-rounds 10]
//	go run ./cmd/bench/arena -pool [-rounds 10]
//	go run ./cmd/bench/arena -handler [-rounds 6]
//
// Every run is a fresh process. A round runs each arm once, in random order, and
// ratios are taken round by round, so that a slow minute of the machine counts
// against no arm. A round begins with a process that touches memory, so that no
// arm waits for the host of a virtual machine to provide it. Tables have medians
// over the rounds with their 95% intervals.
//
// # Trees
//
// The binary trees of the Computer Language Benchmarks Game: a tree of depth 22
// that is freed, one of depth 21 that lives to the end, and as many trees of each
// depth 4, 6, ... 20 as make 2^25 nodes, each built, counted by walking it, and
// freed. A node is two pointers. All programs take their work from one list of
// equal tasks with as many threads as there are processors, build trees in the
// same order, and print the same counts, which are checked.
//
// An arena serves one tree. C's apr_pools and bump allocator do it with one arena
// per thread that is cleared after each tree, which is how they are used best;
// arms of Folio and of bumpalo are there both ways. The bump allocator in C, a
// pointer into one mapping that is large enough, is what the machine can do at
// all.
//
// Go hands out zeroed memory, so Folio's arena clears what a tree used, while a
// program in C or Rust writes a node once, when it is made. The arms "zeroing" of
// bumpalo and of the bump allocator clear what a tree used before it is used
// again, in one pass, as Folio does: the comparison of like with like. The others
// are beside them.
//
// Trees are kind to arenas: all objects are of one type and one size, and die
// together. The table says nothing about the time that it takes to find out who
// may still refer to an arena, which Folio and Go leave to the GC, Rust to
// the compiler, and C to luck. What C's allocators would do if they freed a heap
// as a whole (mi_heap_destroy) is not shown.
//
// # Objects
//
// What an object costs, against new, by its size and by that of the arena. All
// objects of an arena are held until the last one is allocated: those with
// pointers by each other, those without by a slice of pointers, also with new. The
// cost includes that, the write of the first word, the page faults of a process
// that begins, making and freeing the arena, and the GC where it makes the
// program wait; the second table has the CPU time, where all work of
// the GC counts.
//
// # Scaling
//
// How many objects of 16 bytes two goroutines allocate in arenas of their own, of what one does,
// against the same for a loop in C that shares nothing: two processors that share a core, or
// memory that is their limit, give less than 2 to any program. The loop in C runs just before or after
// what is held against it. Rounds in which the host ran something else for more than 1% of the time (steal
// in /proc/stat) do not count.
//
// # Pool
//
// Requests per second of goroutines that each take memory from a pool, fill it, and
// release it.
//
// # Handler
//
// Requests per CPU-second, and latency, of examples/decodearena: an HTTP server that decodes
// a message of many small objects and strings and adds up. Requests come at a fixed rate, the
// same for all arms, and latencies count from the time at which each was to start. The CPU time
// is the server's, all of it: HTTP and the GC as well. The generator runs on the same machine.
//
// # Peers
//
// The C and Rust programs are testdata/trees.c and testdata/bumpalo. They are built
// with the machine's compilers and the distribution's libraries; bumpalo comes from
// the registry through cargo, nuke through the go command. An arm that lacks
// something is listed as not run, with the command that installs it.
package main
