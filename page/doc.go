// Package page maps memory outside the Go heap with pages of a chosen kind, returns
// memory to the OS, and reports residency. A [Range] releases, collapses into huge pages
// and reports on any memory of the process, the Go heap included.
//
//	m, err := page.Map(1<<30, &page.Options{Kind: page.THP})
//	if err != nil {
//		log.Fatal(err)
//	}
//	defer m.Close()
//	table := m.Bytes() // 1 GiB of zeros, on huge pages where there are some
//	table[0] = 1
//
// The package distinguishes capability, policy and residency. A capability is what the
// kernel supports, such as [Range.Collapse] from Linux 6.1 on; if it is missing, the error
// wraps [ErrNotSupported]. A policy is what the program asks for ([Options],
// [Range.Advise]) and what the administrator allows ([Allowed]). Residency is what the
// kernel did ([Range.Residency], [Mapping.Residency]). Only residency tells whether memory
// is on huge pages: a successful Map or Advise does not.
//
// # Memory outside the Go heap
//
// The GC does not scan a [Mapping]. Its bytes must not hold Go pointers, nor values that
// contain them, such as strings, slices or maps: the GC frees what only they refer to, and
// neither the race detector nor checkptr notices. GOMEMLIMIT and GOGC do not count
// mappings either: lower a memory limit by what [Mapped] returns. The race detector does
// not watch mappings.
//
// A mapping lives until [Mapping.Close]. There is no finalizer: a slice of a mapping's
// bytes does not keep the Mapping alive, so a finalizer would unmap memory that such a
// slice still refers to. A Mapping that is not closed stays mapped until the process ends.
//
// The bytes must not be used after Close. A use crashes the program or, once something
// else is mapped at the address, changes that memory. A slice that is kept and then points
// into the Go heap makes the GC throw "found bad pointer in Go heap".
//
// # Windows
//
// A window is an aligned piece of address space that one huge page can map: [HugeSize]
// bytes, or what a huge page would have if HugeSize is 0 (2 MiB with base pages of 4 KiB).
// The kernel makes huge pages, and this package collapses and releases memory, in whole
// windows.
//
// # Systems
//
// Linux 5.10 or newer, and Go 1.26. Everything but [Size], [RangeOf] and the arithmetic of
// [Range] needs Linux; on other systems [HugeSize] and [Mapped] return 0, and all other
// functions an error that wraps [ErrNotSupported]. The documentation of a feature says which
// Linux it needs beyond that. Page sizes depend on the system: on arm64, base pages have 4,
// 16 or 64 KiB and huge pages 2, 32 or 512 MiB.
package page
