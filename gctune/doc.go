// Package gctune tunes GOGC and the memory limit of a Go program while it runs,
// from what its GC costs and how much memory is free. Importing package auto does it, with
// package goheap. For options that the environment variable FOLIO does not have, call [Start]
// instead of importing auto: a process has one tuner ([ErrStarted]).
//
//	tuner, err := gctune.Start(nil)
//	if err != nil {
//		log.Print(err) // the program runs on with its own settings
//	}
//	defer tuner.Stop() // does nothing if Start failed
//
// The memory limit is set at the start (see below). GOGC stays as it is if GC takes less than 2%
// of the program's CPU time. Otherwise the heap grows until the first of these:
//
//   - GC takes 1% of CPU time;
//   - the budget is used;
//   - CPU time measured with more and with less memory shows that more saves nothing;
//   - without a memory limit: more memory is worth more than the CPU time that it saves
//     ([Options.MemoryPerCPU]).
//
// If memory is limited and the program uses less than 60% of its CPUs, as servers do, these
// shares are 0.5% and 0.25%, for the tail of its latency ([Options.Threshold]).
//
// When the live heap grows, or memory outside the Go runtime (C,
// mappings), GOGC falls at the next GC cycle. The peak of memory outside the runtime is
// kept free for at least 30 seconds: a heap cannot release at once what it has spread over.
//
// The budget is the container's memory limit less a reserve, or a share of the
// machine's memory ([Options]). GOGC keeps the heap within it. The runtime's memory
// limit is a safety net 2.5% below the container's (without one: the budget), less resident
// memory outside the runtime. If the live heap leaves the GC too little room below it, the limit is raised
// as far as the container allows, so that the GC does not run all the time.
// [Options.OnUnmet] is called when the live heap, with its least growth, does not fit
// into the budget.
//
// A setting of the user wins: once GOGC or GOMEMLIMIT is set, in the environment or
// with package runtime/debug, at any time, the tuner leaves that setting alone and
// logs it. A memory limit that is set back to the tuner's value is tuned again.
//
// # How it decides
//
// Decisions are a function of samples alone, which is tested on simulated heaps. The CPU
// time of a GC cycle, and the CPU time that the program itself takes for each allocated
// byte, give the heap growth between two cycles at which GC takes the target share.
// The heap size is computed, not searched, so it converges within a few cycles and does not
// oscillate. Audits find what this model leaves out (page faults, caches): for a few cycles
// the heap gets half of the room, and the CPU time for each allocated byte (or
// [Options.Throughput]) is compared with that before and after. The first audit comes after 2
// seconds, later ones up to 10 minutes apart; together they may cost 0.5% of the time.
//
// # What it costs
//
// The tuner wakes after a GC cycle, at most 50 times a second. While GOGC is raised
// it also wakes once a second, every 30 seconds in an idle program, and up to 20
// times a second if little of the budget is free, to keep up with memory outside the
// heap that grows by up to 0.5 GiB a second. An idle program whose GOGC
// is not raised is not woken. With [Options.SecondP] GOMAXPROCS is 2 at times if the
// program may run on one CPU only; each change stops the world, and the tuner wakes every 10 ms
// meanwhile. Setting GOGC takes the heap lock; it does not stop the
// world (since Go 1.19). RSS goes up, within the budget.
//
// # Systems
//
// Go 1.26 or newer. Everything works on Linux. On other systems the RSS of the process is
// not read, so memory outside the Go runtime does not count. On macOS and Windows the
// budget is a quarter of the machine's memory. Elsewhere, where that is unknown, the heap
// may grow to five times the live heap, and no memory limit is set.
package gctune
