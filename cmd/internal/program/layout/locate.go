package layout

import (
	"debug/elf"
	"fmt"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// Globals are the addresses of the runtime's variables, as the file has them: a
// program that can be anywhere has them moved.
type Globals struct {
	MHeap        uint64 // runtime.mheap_
	MemStats     uint64 // runtime.memstats
	GCController uint64 // runtime.gcController
	Work         uint64 // runtime.work; 0 if it was not found
	GCBitsArenas uint64 // runtime.gcBitsArenas; 0 if it was not found
	CleanupQueue uint64 // runtime.gcCleanups; 0 if it was not found, as before Go 1.25

	// References are the variables that some functions refer to, ascending: one of them
	// is what is looked for, and which one is seen in the memory of the process.
	References map[string][]uint64

	// ProfileCycle (runtime.mProfCycle) and ProfileRate (runtime.MemProfileRate) belong to
	// the heap profile; 0 if they were not found.
	ProfileCycle, ProfileRate uint64

	// Code is the beginning of a function, which the process must have at its place.
	Code uint64

	// Functions are those of [HeapProfiler] and [LeakProfiler] that the program links.
	Functions map[string]bool
}

// Links reports whether the program links one of these functions.
func (g *Globals) Links(names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return g.Functions[n] })
}

// HeapProfiler are the functions by which a program reads its own heap profile. Where it
// links none of them, the linker switches the profile off. LeakProfiler is the one by which
// it finds goroutines that leak (Go 1.27, an experiment of Go 1.26).
var (
	HeapProfiler = []string{"runtime.memProfileInternal", "runtime.MemProfile"}
	LeakProfiler = []string{"runtime/pprof.runtime_goroutineLeakGC", "runtime.goroutineLeakGC"}
)

// The functions whose references are kept.
const (
	GoroutineAdded = "runtime.allgadd"          // allgs, allgptr, allglen
	Processors     = "runtime.procresize"       // allp, gomaxprocs
	Buckets        = "runtime.stkbucket"        // mbuckets, bbuckets, xbuckets, buckhash
	Persistent     = "runtime.persistentalloc1" // persistentChunks
)

// Finalizers are the references of runtime.queuefinalizer that runtime.markroot has, too:
// allfin is among them.
const Finalizers = "runtime.queuefinalizer"

// A receiver is a variable that some functions pass to a method, or to a function that
// takes a part of it.
type receiver struct {
	name   string   // of the variable
	method string   // what begins like this, or
	calls  []string // one of these
	in     []string // the functions
	field  string   // what of the variable is passed; "" for itself
	in0    func(*Globals) *uint64

	optional bool // most of what is read does without it
	gc       bool // what the GC counts is in it
}

var receivers = []receiver{
	{
		name: "mheap_", method: "runtime.(*mheap).", in0: func(g *Globals) *uint64 { return &g.MHeap },
		in: []string{"runtime.mallocinit", "runtime.(*mcache).allocLarge", "runtime.(*mcentral).grow", "runtime.stackpoolalloc", "runtime.stackalloc",
			"runtime.gcSweep", "runtime.(*sweepLocked).sweep"},
	},
	{
		name: "memstats", gc: true, method: "runtime.(*consistentHeapStats).", field: "mstats.heapStats", in0: func(g *Globals) *uint64 { return &g.MemStats },
		in: []string{"runtime.(*mheap).allocSpan", "runtime.(*mheap).freeSpanLocked", "runtime.(*mheap).grow", "runtime.(*mcache).refill",
			"runtime.(*mcache).allocLarge", "runtime.(*mcache).releaseAll"},
	},
	{
		name: "gcController", gc: true, method: "runtime.(*gcControllerState).", in0: func(g *Globals) *uint64 { return &g.GCController },
		in: []string{"runtime.gcinit", "runtime.gcStart", "runtime.gcMarkTermination", "runtime.gcControllerCommit", "runtime.(*mcache).refill",
			"runtime.(*mcache).allocLarge", "runtime.(*mcache).releaseAll"},
	},
	{
		name: "work", gc: true, method: "runtime.(*cpuStats).accumulate", field: "workType.cpuStats", in0: func(g *Globals) *uint64 { return &g.Work },
		in: []string{"runtime.gcStart", "runtime.gcMarkDone", "runtime.gcMarkTermination"}, optional: true,
	},
	{
		name: "gcBitsArenas", optional: true, calls: []string{"runtime.lock2", "runtime.lock", "runtime.lockWithRank"}, field: "gcBitsArenas.lock",
		in0: func(g *Globals) *uint64 { return &g.GCBitsArenas }, in: []string{"runtime.nextMarkBitArenaEpoch"},
	},
	{
		name: "gcCleanups", optional: true, method: "runtime.(*cleanupQueue).", in0: func(g *Globals) *uint64 { return &g.CleanupQueue },
		in: []string{"runtime.freeSpecial", "runtime.runCleanups"},
	},
}

// A shared variable is the only one to which all of some functions refer.
type shared struct {
	in  []string
	in0 func(*Globals) *uint64
}

var sharedVariables = []shared{
	{[]string{"runtime.mProf_Flush", "runtime.mProf_Free", "runtime.mProf_Malloc", "runtime.gcMarkTermination"}, func(g *Globals) *uint64 { return &g.ProfileCycle }},
	{[]string{"runtime.profilealloc", "runtime.allocmcache", "runtime.parsegodebug", "runtime.schedinit"}, func(g *Globals) *uint64 { return &g.ProfileRate }},
}

// markRoot marks what waits for its finalizer.
const markRoot = "runtime.markroot"

// lastRuntime is how many functions without one of the runtime end the search: package
// runtime is one part of the text, in which other names are few.
const lastRuntime = 1 << 12

const (
	// maxFunctions is beyond the end of the runtime in every program.
	maxFunctions = 1 << 20
	// maxCode is more than any of the functions takes, and less than is read at a time.
	maxCode = 16 << 10
)

// Locate finds the variables of a program. Those without which nothing can be read are an
// error if they are not found, or if what is found contradicts itself.
func Locate(f *symbol.File, l *Layout) (*Globals, error) { return locate(f, l, false) }

// LocateGC finds those variables alone that have what the GC counts, which takes a third of the
// time.
func LocateGC(f *symbol.File, l *Layout) (*Globals, error) { return locate(f, l, true) }

func locate(f *symbol.File, l *Layout, gc bool) (*Globals, error) {
	follow := followers[f.Machine()]
	if follow == nil || f.Class() != elf.ELFCLASS64 {
		return nil, fmt.Errorf("processor %v: %w", f.Machine(), ErrUnknown)
	}
	follow = once(follow)
	funcs := collect(f, wanted(gc))
	g := &Globals{References: map[string][]uint64{}}
	for _, r := range receivers {
		if gc && !r.gc {
			continue
		}
		at, err := r.find(f, l, follow, funcs)
		if err != nil && !r.optional {
			return nil, err
		}
		*r.in0(g) = at
	}
	g.Code = funcs["runtime.mallocinit"].Entry
	if gc {
		return g, nil
	}
	for _, name := range []string{GoroutineAdded, Processors, Buckets, Persistent} {
		if fn, ok := funcs[name]; ok {
			g.References[name] = references(f, follow, fn)
		}
	}
	g.References[Finalizers] = common(f, follow, funcs, []string{Finalizers, markRoot})
	for _, v := range sharedVariables {
		*v.in0(g) = v.find(f, follow, funcs)
	}
	g.Functions = make(map[string]bool)
	for _, name := range slices.Concat(HeapProfiler, LeakProfiler) {
		_, g.Functions[name] = funcs[name]
	}
	return g, nil
}

// once goes through the code of each function once.
func once(follow follower) follower {
	seen := make(map[uint64][]event)
	return func(fn symbol.Func, code []byte, visit func(event)) {
		all, ok := seen[fn.Entry]
		if !ok {
			follow(fn, code, func(e event) { all = append(all, e) })
			seen[fn.Entry] = all
		}
		for _, e := range all {
			visit(e)
		}
	}
}

// references returns the variables that a function refers to, ascending.
func references(f *symbol.File, follow follower, fn symbol.Func) (refs []uint64) {
	follow(fn, code(f, fn), func(e event) {
		if !e.call && f.Flags(e.address)&elf.PF_W != 0 {
			refs = append(refs, e.address)
		}
	})
	slices.Sort(refs)
	return slices.Compact(refs)
}

// find returns where the variable is, 0 if that is not certain.
func (v *shared) find(f *symbol.File, follow follower, funcs map[string]symbol.Func) uint64 {
	all := common(f, follow, funcs, v.in)
	if len(all) != 1 {
		return 0
	}
	return all[0]
}

// common returns the variables to which all of these functions refer, ascending; none if one
// of them is missing.
func common(f *symbol.File, follow follower, funcs map[string]symbol.Func, names []string) (all []uint64) {
	for i, name := range names {
		fn, ok := funcs[name]
		if !ok {
			return nil
		}
		refs := references(f, follow, fn)
		if i == 0 {
			all = refs
			continue
		}
		all = slices.DeleteFunc(all, func(at uint64) bool { _, ok := slices.BinarySearch(refs, at); return !ok })
	}
	return all
}

// Version returns the version of Go of a program without build information, which some
// remove: runtime.schedinit refers to the text that runtime.Version returns. "" if it is not
// found.
func Version(f *symbol.File) string {
	const longest = 100
	follow := followers[f.Machine()]
	if follow == nil || f.Class() != elf.ELFCLASS64 {
		return ""
	}
	for fn := range f.Funcs() {
		if fn.Name != "runtime.schedinit" {
			continue
		}
		for _, at := range references(f, follow, fn) {
			for _, at := range []uint64{at, at - 8} { // it looks at the length first
				w := f.Words(at, 2)
				if len(w) == 2 && w[1] > 0 && w[1] <= longest {
					if text := string(f.Bytes(w[0], int(w[1]))); strings.HasPrefix(text, "go1.") {
						return text
					}
				}
			}
		}
		break
	}
	return ""
}

// Identify has a program without build information know its version, if its runtime tells.
func Identify(f *symbol.File) {
	if f.IsGo() && f.GoVersion() == "" {
		f.Assume(Version(f))
	}
}

// wanted are the functions that are followed.
func wanted(gc bool) map[string]bool {
	out := map[string]bool{"runtime.mallocinit": true}
	for _, r := range receivers {
		if gc && !r.gc {
			continue
		}
		for _, name := range r.in {
			out[name] = true
		}
	}
	if gc {
		return out
	}
	for _, v := range sharedVariables {
		for _, name := range v.in {
			out[name] = true
		}
	}
	for _, name := range []string{GoroutineAdded, Processors, Buckets, Persistent, Finalizers, markRoot} {
		out[name] = true
	}
	for _, name := range slices.Concat(HeapProfiler, LeakProfiler) {
		out[name] = true
	}
	return out
}

// collect finds the functions by the program's own table.
func collect(f *symbol.File, want map[string]bool) map[string]symbol.Func {
	out := make(map[string]symbol.Func)
	n, since, begun := 0, 0, false
	for fn := range f.Funcs() {
		since++
		if strings.HasPrefix(fn.Name, "runtime.") {
			since, begun = 0, true
		}
		if n++; n > maxFunctions || len(out) == len(want) || begun && since > lastRuntime {
			break
		}
		if _, again := out[fn.Name]; want[fn.Name] && !again {
			out[fn.Name] = fn
		}
	}
	return out
}

// code reads a function, or its beginning.
func code(f *symbol.File, fn symbol.Func) []byte {
	if fn.End <= fn.Entry || f.Flags(fn.Entry)&elf.PF_X == 0 {
		return nil
	}
	return slices.Clone(f.Bytes(fn.Entry, int(min(fn.End-fn.Entry, maxCode))))
}

// find returns where the variable is by what is passed in its functions.
func (r *receiver) find(f *symbol.File, l *Layout, follow follower, funcs map[string]symbol.Func) (uint64, error) {
	offset := uint64(0)
	if r.field != "" {
		field, ok := l.Field(r.field)
		if !ok {
			return 0, fmt.Errorf("runtime.%s: %s has no field %s", r.name, l.Version, r.field)
		}
		offset = field.Offset
	}
	var found []uint64
	for _, name := range r.in {
		fn, ok := funcs[name]
		if !ok {
			continue
		}
		follow(fn, code(f, fn), func(e event) {
			if !e.call || e.arg == 0 || f.Flags(e.arg)&elf.PF_W == 0 {
				return
			}
			to, ok := f.FuncAt(e.address)
			if ok && to.Entry == e.address && r.takes(to.Name) {
				found = append(found, e.arg-offset)
			}
		})
	}
	slices.Sort(found)
	switch found = slices.Compact(found); len(found) {
	case 1:
		return found[0], nil
	case 0:
		return 0, fmt.Errorf("runtime.%s was not found: no function passes its address", r.name)
	}
	return 0, fmt.Errorf("runtime.%s was not found: it could be in %d places", r.name, len(found))
}

func (r *receiver) takes(name string) bool {
	if r.method == "" {
		return slices.Contains(r.calls, name)
	}
	return strings.HasPrefix(name, r.method) && !strings.Contains(name, ".func")
}
