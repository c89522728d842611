// Package page maps memory outside the Go heap with pages of a chosen kind, returns
// it to the OS, and reports its residency. The last two work for any memory of the
// process, the Go heap included.
//
// The package distinguishes three things. A capability is what the kernel supports,
// such as [Range.Collapse] from Linux 6.1 on; if it is missing, the error wraps
// [ErrNotSupported]. A policy is what the program asks for and the administrator
// allows: [Options], [Range.Advise], [Allowed]. Residency is what the kernel did:
// [Range.Residency], [Mapping.Residency]. Only residency tells whether there is a
// huge page: a successful Advise or Map does not.
//
// # Memory outside the Go heap
//
// The GC does not scan a [Mapping]. So its bytes must not hold Go pointers, nor
// values that contain them, such as strings, slices or maps: what only they refer
// to is freed, and neither the race detector nor checkptr notices. GOMEMLIMIT and GOGC do not count a mapping either: [Mapped] says by
// how much to lower a limit. The race detector does not watch mappings.
//
// A mapping lives until [Mapping.Close]. There is no finalizer on purpose: a slice
// of a mapping's bytes does not keep the Mapping alive, so unmapping what seems
// unreachable would take memory away from under those slices. A Mapping that
// is dropped stays mapped until the process ends. After Close, the bytes
// must not be used, nor kept: a use crashes the program, or, once something else
// is mapped there, changes it; and a stale slice that points into what has
// become Go heap makes the GC throw "found bad pointer in Go heap".
//
// # Systems
//
// Everything but [Size], [Of] and the arithmetic of [Range] needs Linux, and is
// an [ErrNotSupported] elsewhere. Page sizes are what the system says: base
// pages have 4, 16 or 64 KiB on arm64, huge pages 2, 32 or 512 MiB.
package page
