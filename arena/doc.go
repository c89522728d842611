// Package arena allocates many Go values together and frees them at once:
// memory that is handed out by counting up, costs the GC next to nothing,
// and is reused without waiting for it.
//
//	type Node struct{ Next *Node }
//
//	a := arena.NewArena()
//	defer a.Free()
//	list := arena.New[Node](a) // a *Node in the arena
//	lengths := arena.MakeSlice[int](a, 0, 100)
//	lengths = arena.Append(a, lengths, 1)
//
//	nodes := arena.Of[Node](a) // a handle: for many values of several types in turn
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
// ordinary Go memory, made with make([]T, n), of which the elements are handed
// out in order. Therefore
//
//   - values may hold any Go pointer, into the heap or into arenas; the GC sees
//     them all. Strings, maps, interfaces, channels and funcs are no exception;
//   - a pointer into an arena, also into the middle of a value, keeps its slab
//     alive, even if the arena is not reachable any more;
//   - memory of arenas counts for GOGC and GOMEMLIMIT and shows in heap profiles,
//     at the place where a slab was made;
//   - the race detector works.
//
// Slabs start at 512 bytes, or at one value if that is larger, and double up to
// Options.SlabBytes, 4 MiB by default. An empty arena costs 128 bytes, one with a small value
// some 830, of which 512 are its first slab. On 64-bit systems an arena and its handles have lines
// of the cache of their own, of 64 bytes, so that goroutines with an arena each do not slow each
// other down. Free gives the slabs to a pool that all arenas of the process share, separate for
// each type, where the next arena finds them: small ones together, so that an
// arena that comes and goes leaves only those 128 bytes to the GC, and nothing where it
// does not escape its function, as the compiler calls it: then they are on the stack.
// ([NewArena] and [NewArenaWith] are inlined for that. A function that passes the arena
// to an interface's method, stores it, or returns it makes it escape.)
//
// Free clears up to 64 KiB of each type. The other slabs are cleared by the arena that takes
// them next, so that the time of Free depends on how many slabs there are: some 10 us for
// 64 MiB. Until then such a slab keeps alive what its values pointed to: if no arena
// takes it, for two GC cycles after Free, and the third frees it. Reset clears
// everything that it keeps.
//
// Options.IdleBytes bounds what is idle. Up to 16 KiB for each P and type,
// which serve small arenas without a lock, do not count, nor do up to 16 KiB more
// that were not added up yet; up to 256 KiB for each that were taken count until the next
// GC cycle.
//
// What would be idle there beyond Options.IdleBytes is left to the GC at once. The small
// slabs of a freed arena, up to 64 KiB of each type, take the place of large ones that are idle.
// Where there are transparent huge pages, memory without pointers, if it is 1 MiB or more of
// one type, is also returned to the OS at once, in whole windows of huge pages, by a goroutine; a
// program that asks for it again soon finds it kept the next time.
// Memory with pointers counts in RSS until a GC cycle frees it and the runtime
// returns it to the OS, like that of new: that takes two cycles or three, of which
// an idle program has one every two minutes. debug.FreeOSMemory does it at once.
// An arena that needs the memory before the first of them reuses it. What is idle
// over a whole cycle is left to the GC, too.
//
// On Linux with transparent huge pages, slabs from 512 KiB on (from 64 KiB on
// when arenas hold more than 32 MiB) are put on huge pages before they are
// touched; with larger huge pages than 2 MiB, 512 KiB and 32 MiB grow with
// them. A huge page's window of which a part was touched before, and a quarter or more was not,
// is collapsed (MADV_COLLAPSE, Linux 6.7 or later), once. [Arena.Stats] says what came of it.
//
// # New and handles
//
// [New] and the New of a [Handle] are inlined: both count up, and New compares the type before,
// with two types of the arena. These are its first two at first. Another type costs New a call
// and a short search; every 16th such call, the type that it asks for takes the place
// of one of the two, in turn, unless the arena has more than 13 types or the program has
// the handle of one that would move. So two types are as fast as their handles,
// whatever was allocated before; of more types in turn, a handle for each spares the call.
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
//	reading, writing, append, Clone of what was kept         unseen       unseen      unseen
//
// It stays so when the memory is in use again: an arena that [Pool.Get] returns is
// a new one. The last line is also Append of a kept slice with a live arena:
// there is no telling where a slice is from. Nor is a copy of an [Arena] or a
// [Handle] noticed; go vet reports both.
//
// What is unseen cannot corrupt memory, as long as it is not a data race. The slab is
// still Go memory of the same type, so a pointer that was kept leads to the old
// value, to zeros, or to a value of the same type that was allocated since. It never
// leads to memory of another type, to unmapped memory or to an object that the
// GC has freed: the pointer itself keeps the slab alive, and all stores to a slab
// that holds pointers are the program's and known to the GC. What such a program
// gets is wrong values, as with a slice that is used again too early, and not a
// wild pointer. A string or byte slice that was kept shows other text.
//
// It is a data race if another goroutine frees or resets the arena meanwhile, or has
// got the memory since. Then it is as with all races in Go: a pointer or a number
// is one of those that were stored, but half of a string, slice or interface may
// be old and half of it new, and using that may corrupt memory.
//
// To find such bugs, run the program with FOLIO=arenadebug=1 in its
// environment, or build it with -tags foliodebug. Freed slabs are then not
// reused. They are held weakly; one that two whole GC cycles find reachable
// is reported: where the arena was made and freed, the type, and how many
// values the slab held. The panics give the same detail. [OnDangling] takes the
// reports, [CheckDangling] makes them at once: call it at the end of tests.
// A goroutine that was preempted at any place and waits for a CPU is scanned
// conservatively: on a busy machine a report may be of a pointer that is dead.
// GODEBUG=asyncpreemptoff=1 leaves those out.
//
// # Goroutines
//
// An arena, with its handles, is for one goroutine at a time, like a slice or a
// map. As with them, using it from two at once is a data race, which the race
// detector sees and which may corrupt memory. The values may be shared like
// others. Goroutines that each need an arena for a short time use a [Pool].
//
// # Finalizers, cleanups, weak pointers
//
// runtime.AddCleanup and weak.Make accept pointers into an arena but speak of
// the slab: a cleanup runs, and a weak pointer becomes nil, when the GC has
// freed the slab, which may be long after Free or, as it is reused, never.
// runtime.SetFinalizer ends the program, or does what AddCleanup does: the latter
// for the first value of a slab and for values without pointers of less than 16
// bytes. Attach them to an object on the heap that refers to the arena.
//
// # Differences from Go's experimental package
//
// An arena that is not freed is not freed by the GC, either: its slabs
// are freed like other memory, when nothing points to them. [Clone] always
// copies. Reading a value after Free never faults.
package arena
