// Package goheap puts the heap of the Go runtime on huge pages.
//
//	advisor, err := goheap.Start(nil)
//	if err != nil {
//		log.Print(err) // the heap stays as it is
//	}
//	defer advisor.Stop() // does nothing if Start failed
//
// Since Go 1.21.4 the runtime does not ask for huge pages, and most systems give
// them only to those who ask. What a program gains depends on how it reads its heap:
// https://github.com/foliomem/folio/blob/main/docs/lab-notes/huge-pages.md has
// measurements. Small heaps gain nothing, and are left alone ([Options.MinHeap]).
//
// # Two mechanisms
//
// Collapse, the default, makes huge pages of windows that are nearly all in use
// (MADV_COLLAPSE, kernel 6.1+), the densest first. No flag is left behind, so the
// kernel does not fill what the runtime releases later. It works whatever the
// system's policy for transparent huge pages is. It never touches a sparse window:
// that would make 2 MiB of memory out of one page.
//
// Reserve ([Options.Reserve]) grows the heap's address space once, at the start, and
// advises the kernel to use huge pages there (MADV_HUGEPAGE). The heap then grows
// into huge pages from the beginning, with a small part of the page faults. It
// needs the policy to be madvise or always. It is for programs whose heap
// is known to become large: even a small one is rounded up to whole huge pages. What
// grows beyond the reserve is left to Collapse. A program that locks its memory
// (mlockall) cannot have a reserve, as the kernel would put all of it in memory: it is
// refused, or released within a second if memory is locked later (see [Options.Log]).
//
// An adaptive reserve ([ReserveAdaptive]) goes by a memory limit, of a cgroup or GOMEMLIMIT,
// and by the heap. A heap below 64 MiB is left as it is. When it is about to pass that, its
// address space grows: up to the limit, in steps of which each doubles it, at the cost of a
// GC cycle each and a thousandth of its size. It asks for huge pages no further than the
// heap can grow before the next look, 5/4 of the GC's heap goal. It no longer asks when
// the heap has been small for half a minute, when less than half of a sample of its huge
// pages was ever written to, and when threads wait for memory ([Stats.GivenUp]); the first
// and the last are tried again. It needs the policy to be madvise, and is not made
// where vm.overcommit_memory is 2, where the program locks its memory, or where less than
// MinDensity of the heap is in memory.
//
// # Memory
//
// A huge page can have parts that the runtime does not use: bloat. Collapse fills at
// most half of [Options.MaxBloat] of what it collapses. Bloat that appears
// later, as a heap shrinks, is measured: what the kernel has in memory, less what the
// runtime says it has not released. When that passes MaxBloat, it is released
// by the runtime itself: the advisor allocates the space that the runtime believes
// it has released, without writing to it, drops it, and calls
// [runtime/debug.FreeOSMemory]. That costs a GC cycle, and it releases all
// free memory of the heap; so it happens twice a minute at most, and less often if it
// does not help. Nothing else would be safe: no one but the runtime
// knows which of its pages are free.
//
// khugepaged, the kernel's own thread, fills holes too, in memory that is advised, or
// everywhere if the policy is always: by default (max_ptes_none=511) it makes 2 MiB
// out of one page. So what a reserve has been used for is then taken out of its reach
// (MADV_NOHUGEPAGE), and under always what the heap has when memory is released; and
// [Stats.Hazards] says what the administrator can do.
//
// # What it costs
//
// Collapsing takes about a millisecond of CPU time a window of 2 MiB, in
// virtual machines whose host gives memory only when it is touched up to ten
// times as much; [Options.Budget] bounds it. A goroutine that uses the window at that
// moment waits for it. So do requests on a single CPU: unless the program keeps that busy,
// windows are collapsed one at a time then, in a tenth of the time at most. It is not done
// while the GC marks, nor while the system is short of memory. A GC cycle wakes the
// advisor; besides, a few counters are read once a second, or every half minute if the heap
// cannot become large without a GC cycle.
//
// # Systems
//
// Collapse needs Linux 6.1. Elsewhere [Start] returns an error for which
// errors.Is(err, [page.ErrNotSupported]) holds, and does nothing. Nor does it do anything
// where the user wants no huge pages: GODEBUG=disablethp=1, or PR_SET_THP_DISABLE.
//
// A guide for users, with the hazards, is in
// https://github.com/foliomem/folio/blob/main/docs/goheap.md.
package goheap
