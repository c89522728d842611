// Package page maps memory outside the Go heap with the pages of one's choice,
// gives it back, and measures what the kernel did. It does the last two for any
// memory of the process too, the Go heap included.
//
// Three words are kept apart. A capability is what the kernel can do, such as
// [Range.Collapse] from Linux 6.1 on; what it cannot is an error for which
// errors.Is(err, [ErrNotSupported]) holds. A policy is what was asked for and
// what the administrator allows: [Options], [Range.Advise], [Allowed]. Residency
// is what the kernel did: [Range.Residency], [Mapping.Residency]. That a call of
// the first two kinds succeeds never means that there is a huge page.
//
// # Memory outside the Go heap
//
// The garbage collector does not see a [Mapping]. So its bytes must not hold Go
// pointers, nor anything that has some, such as strings, slices or maps: what
// only they refer to is collected, and neither the race detector nor checkptr
// notices. GOMEMLIMIT and GOGC do not count a mapping either: [Mapped] says by
// how much to lower a limit. The race detector does not watch mappings.
//
// A mapping lives until [Mapping.Close]. There is no finalizer on purpose: a slice
// of a mapping's bytes does not keep the Mapping alive, so unmapping what seems
// unreachable would take memory away from under those slices. A Mapping that
// is dropped stays mapped for as long as the process lives. After Close, the bytes
// must not be used, nor kept: a use crashes the program, or, once something else
// is mapped there, changes it; and a stale slice that points into what has
// become Go heap makes the collector throw "found bad pointer in Go heap".
//
// # Systems
//
// Everything but [Size], [Of] and the arithmetic of [Range] needs Linux, and is
// an [ErrNotSupported] elsewhere. Page sizes are what the system says: base
// pages have 4, 16 or 64 KiB on arm64, huge pages 2, 32 or 512 MiB.
package page
