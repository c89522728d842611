// Package gctune sets GOGC and the memory limit of a Go program while it runs,
// by what a collection costs and what memory there is.
//
//	tuner, err := gctune.Start(nil)
//	if err != nil {
//		log.Print(err) // the program runs on as Go would run it
//	}
//	defer tuner.Stop()
//
// A program whose collections cost little (less than 2% of its processor time)
// is left alone. Where they cost more, free memory is spent on fewer of them:
// the heap may grow until a collection costs 1%, or the budget is used up, or a
// comparison of both settings shows that the memory buys nothing. When the live
// heap or the rest of the process (stacks, C, mappings) grows, what was spent is
// taken back at once. What the rest has taken is kept free for it for half a
// minute at least: a heap cannot give back all at once what it has spread over.
//
// The budget is what the container allows less a reserve, or a share of the
// machine's memory ([Options]). It becomes the soft memory limit of the runtime
// too, with the reserve, but such that the limit does not make the collector run
// all the time: as the live heap comes near it, the limit gives way as far as
// the container allows, and [Options.OnUnmet] is called.
//
// Whoever sets GOGC or GOMEMLIMIT, in the environment or by package
// runtime/debug, at any time, has the last word: the tuner leaves that setting
// alone from then on, and says so.
//
// # How it decides
//
// [Controller] is the whole decision: a pure function of what was measured. From
// the processor time of a collection and what the program itself needs for each
// byte that it allocates follows how much the heap must be able to grow between
// two collections for them to cost a given share. That needs no trying, so it
// settles within a few collections and does not oscillate. What the model cannot
// see (page faults, caches) is found by audits: now and then, for a few
// collections, the heap gets half of the room, and the processor time for each
// allocated byte (or [Options.Throughput]) is compared with that before and after.
//
// # What it costs
//
// The tuner wakes after a collection, at most 50 times a second, and once a
// second while it has spent memory, which becomes every 30 seconds when nothing
// happens; where little of the budget is spare, up to 20 times a second, so that
// what grows outside the heap at up to half a gigabyte a second is seen in time. A
// program at rest that is left alone is not woken. Setting GOGC
// takes the lock of the heap for a moment (it has not stopped the world since Go
// 1.19). Memory that the collector may use is used: RSS goes up, up to the budget.
//
// # Systems
//
// Everything works on Linux. Elsewhere the resident memory of the process is not
// read, so memory outside the Go runtime is not noticed. The budget is a
// quarter of the memory of the machine on macOS and Windows; where that is not
// known either, the heap may grow to five times the live heap and no limit is set.
package gctune
