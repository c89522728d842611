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
// It pays for a thousand small objects or more that live and die together, such as what
// one request decodes, in a program whose GC takes 5% of the CPU time or more. The command
// folio suggest (https://github.com/foliomem/folio) names the lines of a program that would
// gain, or none.
//
// It needs Go 1.26 and works on every system. Huge pages need Linux, and Linux 6.7 for memory
// that was partly touched before: see [Options].
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
// [Pool.Get] always returns a new Arena: one that was put keeps panicking when its memory is
// in use again. The last row also covers passing a kept slice to Append with a live arena. A copy of an
// Arena or a Handle is not detected either; go vet reports both.
//
// Undetected use cannot corrupt memory, as long as it is not a data race. A pointer that was
// kept leads to the old value, to zeros, or to a value of the same type that was allocated
// since; a string or byte slice has other text. It never leads to memory of another type, to
// unmapped memory or to an object that the GC has freed, since the pointer itself keeps the
// slab alive. Such a program gets wrong values, as with a slice that is reused too early, but
// no wild pointers.
//
// It is a data race if another goroutine frees or resets the arena meanwhile, or has
// allocated the memory since. Half of a string, slice or interface may then be old and half
// of it new, and using that may corrupt memory.
//
// folio vet finds such bugs before a program runs. FOLIO=arenadebug=on in its environment,
// or -tags foliodebug, finds them while it runs: see [CheckDangling].
//
// # Memory
//
// An arena is made of slabs, one list for each type of its values. A slab is ordinary Go
// memory, made with make([]T, n); its elements are handed out in order. Therefore
//
//   - values may hold any Go pointer, into the heap or into arenas: strings, maps,
//     interfaces, channels and funcs are no exception;
//   - a pointer into an arena, even into the middle of a value, keeps its slab alive, even
//     if the arena is no longer reachable;
//   - memory of arenas counts for GOGC and GOMEMLIMIT, and appears in heap profiles at the
//     call that made the slab;
//   - the race detector works.
//
// An empty arena takes 128 bytes, one with a small value about 830. Slabs double from 512
// bytes up to 4 MiB. Freed ones are kept for all arenas of the process, up to
// [Options.IdleBytes]; see [Options] for when they are released, and for huge pages.
//
// # Goroutines
//
// An arena, with its handles, is for one goroutine at a time, like a slice or a map. The
// values may be shared like others. Use a [Pool] if many goroutines each need an arena for a
// short time.
//
// # Finalizers, cleanups, weak pointers
//
// runtime.AddCleanup and weak.Make accept pointers into an arena but apply to the slab: a
// cleanup runs, and a weak pointer becomes nil, when the GC has freed the slab, which may be
// long after Free or, as it is reused, never. runtime.SetFinalizer crashes the program for
// most values. Attach them to an object on the heap that refers to the arena.
//
// # Go's experimental package
//
// Names and meanings are those of Go's experimental package arena, so that programs that use
// it need to change the import line only, except for reflect.ArenaNew, which has no
// counterpart. Additions: Of and Handle, Append and AppendSlice, String and Bytes,
// Arena.Reset, Arena.Stats, NewArenaWith with Options, Pool, CheckDangling and OnDangling.
// Here the GC does not free an arena as a whole, Clone always copies, and reading a value
// after Free never faults.
package arena
