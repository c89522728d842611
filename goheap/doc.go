// Package goheap puts the heap of the Go runtime on huge pages. Importing package auto does
// it, with defaults for containers. For options that the environment variable FOLIO does not
// have, call [Start] instead of importing auto: a process has one advisor ([ErrStarted]).
//
//	advisor, err := goheap.Start(nil)
//	if err != nil {
//		log.Print(err) // the heap stays as it is
//	}
//	defer advisor.Stop() // does nothing if Start failed
//
// Since Go 1.21.4 the runtime does not ask for huge pages, and most systems only give
// them to programs that ask. What a program gains depends on how it reads its heap:
// https://github.com/foliomem/folio/blob/main/docs/lab-notes/huge-pages.md has
// measurements. Small heaps gain nothing, and are left alone ([Options.MinHeap]).
//
// A window is an aligned part of the heap as large as a huge page: 2 MiB on amd64.
//
// # Two mechanisms
//
// Collapse, the default, makes huge pages of windows that are nearly all in use
// (MADV_COLLAPSE, Linux 6.1), the densest first. It sets no policy, so the
// kernel does not fill what the runtime releases later. It works under every
// system policy for transparent huge pages. It never touches a sparse window, since one
// resident page would become 2 MiB.
//
// Reserve ([Options.Reserve]) grows the heap's address space once, at the start, and
// advises the kernel to use huge pages there (MADV_HUGEPAGE). The heap then grows
// into huge pages from the beginning, with a fraction of the page faults. It
// needs the policy madvise or always. It is for programs whose heap
// is known to become large: even a small heap is rounded up to whole huge pages.
// Collapse takes what grows beyond the reserve. A program that locks its memory
// (mlockall) cannot have a reserve, as the kernel would put all of it in memory: it is
// refused, or released within a second if memory is locked later (see [Options.Log]).
//
// An adaptive reserve ([ReserveAdaptive]) follows a memory limit, of a cgroup or GOMEMLIMIT,
// and the heap. A heap below 64 MiB is left as it is. When it is about to exceed that, its
// address space grows up to the limit, in steps that double it. Each step takes a GC cycle
// and memory of a thousandth of the reserve. It asks for huge pages no further than the
// heap can grow before the next look, 5/4 of the GC's heap goal. It stops asking in three
// cases ([Stats.GivenUp]): the heap has been small for half a minute; threads wait for memory;
// or less than half of a sample of its huge pages was ever written to. It tries again after
// the first two, never after the third. It needs the policy madvise, and is not made
// if vm.overcommit_memory is 2, if the program locks its memory, or if less than
// MinDensity of the heap is resident.
//
// # Memory
//
// A huge page can have parts that the runtime does not use: bloat. Filling holes
// adds at most half of [Options.MaxBloat] to what is collapsed. Bloat that appears
// later, as a heap shrinks, is measured: resident memory that the runtime has released
// or never used. When that exceeds MaxBloat, it is released
// by the runtime itself: the advisor allocates the space that the runtime believes
// it has released, without writing to it, drops it, and calls
// [runtime/debug.FreeOSMemory]. That costs a GC cycle, and it releases all
// free memory of the heap. So it happens at most twice a minute, and less often if it
// does not help. No other method is safe: only the runtime
// knows which of its pages are free.
//
// khugepaged, a thread of the kernel, also fills holes: in advised memory, or
// everywhere if the policy is always. By default (max_ptes_none=511) it makes 2 MiB
// out of one page. The used part of a reserve is therefore advised against huge pages
// (MADV_NOHUGEPAGE); under always, also the heap when memory is released.
// [Stats.Hazards] says what the administrator can do.
//
// # What it costs
//
// Collapsing takes about 1 ms of CPU time per window of 2 MiB, and up to 10 ms in
// virtual machines whose host allocates memory at first touch; [Options.Budget] bounds it.
// Goroutines that use the window meanwhile wait. So do requests on a single CPU: unless the
// program keeps that CPU busy, windows are collapsed one at a time, in at most a tenth of
// the time. Nothing is collapsed while the GC marks, or while the system is short of memory.
// The advisor wakes after a GC cycle, and reads a few counters once a second, or every half
// minute if the heap cannot become large without a GC cycle.
//
// # Systems
//
// Go 1.26 or newer. Collapse needs Linux 6.1; before that only a reserve works. Without one,
// and on other systems, [Start] does nothing and returns an error that wraps
// page.ErrNotSupported. It also fails if the user has disabled
// huge pages: GODEBUG=disablethp=1, or PR_SET_THP_DISABLE.
//
// The guide for users, with the hazards:
// https://github.com/foliomem/folio/blob/main/docs/goheap.md.
package goheap
