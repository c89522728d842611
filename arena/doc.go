// Package arena allocates many Go values together and frees them at once.
// Allocation increments a counter, the GC has next to nothing to do, and freed
// memory is reused without waiting for a GC cycle.
//
//	type Node struct{ Next *Node }
//
//	a := arena.NewArena()
//	defer a.Free()
//	list := arena.New[Node](a) // a *Node in the arena
//	lengths := arena.MakeSlice[int](a, 0, 100)
//	lengths = arena.Append(a, lengths, 1)
//
//	nodes := arena.Of[Node](a) // a handle: fast for many values of several types
//	for range 1000 {
//		n := nodes.New()
//		n.Next = list
//		list = n
//	}
//
// The names and meanings are those of Go's experimental package arena, so that
// programs that use it need to change the import line only, except for reflect.ArenaNew,
// which has no counterpart. Additions:
// [Of], [Append] and [AppendSlice], [String] and [Bytes], [Arena.Reset],
// [Arena.Stats], [NewArenaWith] and [Pool].
//
// # Memory
//
// An arena is made of slabs, one list for each type of its values. A slab is
// ordinary Go memory, made with make([]T, n); its elements are handed out in
// order. Therefore
//
//   - values may hold any Go pointer, into the heap or into arenas; the GC sees
//     them all. Strings, maps, interfaces, channels and funcs are no exception;
//   - a pointer into an arena, even into the middle of a value, keeps its slab
//     alive, even if the arena is no longer reachable;
//   - memory of arenas counts for GOGC and GOMEMLIMIT, and appears in heap profiles
//     at the call that made the slab;
//   - the race detector works.
//
// Slabs start at 512 bytes, or at one value if that is larger, and double up to
// Options.SlabBytes, 4 MiB by default. An empty arena takes 128 bytes, one with a small value
// about 830, of which 512 are its first slab. On 64-bit systems an arena and its handles have
// cache lines of their own, of 64 bytes: goroutines with one arena each do not slow each
// other down. Free returns the slabs to a pool for each type, which all arenas of the process
// share. The small slabs of an arena are reused together: a short-lived arena leaves only
// its 128 bytes to the GC, and nothing if it does not escape its function, since it is then
// on the stack. ([NewArena] and [NewArenaWith] are inlined for that. A function that passes
// the arena to a method of an interface, stores it, or returns it makes it escape.)
//
// Free clears up to 64 KiB of each type. The arena that takes the other slabs next clears
// them. The time of Free therefore depends on the number of slabs: about 10 µs for
// 64 MiB. Until it is cleared, a slab keeps alive what its values pointed to: if no arena
// takes it, the third GC cycle after Free frees it. Reset clears everything that it keeps.
//
// Options.IdleBytes bounds idle memory. It does not count up to 16 KiB for each P and type,
// which serve small arenas without a lock, and up to 16 KiB more that were not added up yet;
// up to 256 KiB for each that were taken count until the next GC cycle.
//
// Memory that would be idle beyond Options.IdleBytes is left to the GC at once. The small
// slabs of a freed arena, up to 64 KiB of each type, replace large ones that are idle.
// With transparent huge pages, memory without pointers is also returned to the OS at once
// if it is 1 MiB or more of one type: by a goroutine, in whole windows of huge pages. If
// the program soon asks for it again, it is kept the next time.
// Memory with pointers counts in RSS until a GC cycle frees it and the runtime
// returns it to the OS, like that of new: after two or three cycles, and
// an idle program has one every two minutes. debug.FreeOSMemory does it at once.
// An arena that needs the memory before the first of them reuses it. Memory that is idle
// for a whole cycle is also left to the GC.
//
// On Linux with transparent huge pages, slabs from 512 KiB on (from 64 KiB on
// when arenas hold more than 32 MiB) are put on huge pages before they are
// touched; if huge pages are larger than 2 MiB, these sizes grow with them. If part of a
// window was touched before, and a quarter or more of it was not, the window is collapsed
// once (MADV_COLLAPSE, Linux 6.7). [Arena.Stats] reports the result.
//
// # New and handles
//
// [New] and the New of a [Handle] are inlined. Both increment a counter; New first compares
// the type with two types of the arena, initially the first two. For any other type, New takes
// a call and a short search. At every 16th such call, the type replaces one of the two, in
// turn, unless the arena has more than 13 types or the program has the handle of one that would
// move. So two types are as fast as their handles, whatever was allocated before; for more
// types in turn, use a handle for each.
//
// # After Free
//
// Using an arena after [Arena.Free] or [Pool.Put], or what was allocated from it
// after these or [Arena.Reset], is a bug:
//
//	                                                         after Free   after Put   after Reset
//	New, Of, MakeSlice, Append, AppendSlice, String, Bytes   panics       panics      works
//	New of a handle that was kept                            panics       panics      works
//	Free, Reset, Pool.Put                                    panics       panics      works
//	Stats                                                    zeros        zeros       works
//	reading, writing, append, Clone of what was kept         undetected   undetected  undetected
//
// This does not change when the memory is in use again: an arena that [Pool.Get] returns is
// a new one. The last line includes Append of a kept slice with a live arena, because Append
// cannot know where a slice is from. A copy of an [Arena] or a [Handle] is not detected
// either; go vet reports both.
//
// Undetected use cannot corrupt memory, as long as it is not a data race. The slab is
// still Go memory of the same type, so a pointer that was kept leads to the old
// value, to zeros, or to a value of the same type that was allocated since. It never
// leads to memory of another type, to unmapped memory or to an object that the
// GC has freed: the pointer itself keeps the slab alive, and all stores to a slab
// that holds pointers are the program's and known to the GC. Such a program gets
// wrong values, as with a slice that is reused too early, but no wild pointers.
// A string or byte slice that was kept has other text.
//
// It is a data race if another goroutine frees or resets the arena meanwhile, or has
// allocated the memory since. As with all races in Go, a pointer or a number is then
// one of those that were stored, but half of a string, slice or interface may
// be old and half of it new, and using that may corrupt memory.
//
// To find such bugs, run the program with FOLIO=arenadebug=on in its
// environment, or build it with -tags foliodebug. Freed slabs are then not
// reused. They are held by weak pointers. One that is still reachable after two whole GC
// cycles is reported: where the arena was made and freed, the type, and how many
// values the slab held. The panics give the same detail. [OnDangling] receives the
// reports, [CheckDangling] makes them at once: call it at the end of tests.
// The GC scans a goroutine that was preempted asynchronously conservatively: on a busy
// machine a report may be of a dead pointer. GODEBUG=asyncpreemptoff=1 prevents that.
//
// # Goroutines
//
// An arena, with its handles, is for one goroutine at a time, like a slice or a
// map. As with them, using it from two at once is a data race, which the race
// detector reports and which may corrupt memory. The values may be shared like
// others. Use a [Pool] if many goroutines each need an arena for a short time.
//
// # Finalizers, cleanups, weak pointers
//
// runtime.AddCleanup and weak.Make accept pointers into an arena but apply to
// the slab: a cleanup runs, and a weak pointer becomes nil, when the GC has
// freed the slab, which may be long after Free or, as it is reused, never.
// runtime.SetFinalizer does what AddCleanup does for the first value of a slab, and for
// values without pointers of less than 16 bytes; for others it crashes the program.
// Attach them to an object on the heap that refers to the arena.
//
// # Differences from Go's experimental package
//
// The GC does not free as a whole an arena that the program did not free: its slabs
// are freed like other memory, when nothing points to them. [Clone] always
// copies. Reading a value after Free never faults.
package arena
