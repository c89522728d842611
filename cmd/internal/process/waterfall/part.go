package waterfall

import "time"

// Kind says what a part of the memory is for.
type Kind int

// Parts, in the order in which they are shown.
const (
	Live         Kind = iota // objects that the last GC cycle found in use
	Since                    // objects that were allocated since, and those that are not swept
	Unused                   // in spans for objects, and in none: fragmentation
	Free                     // in no span, and not returned to the OS
	Repopulated              // returned to the OS, and in memory again
	Rounding                 // around the heap, in huge pages that reach beyond it
	Stacks                   // of goroutines
	Metadata                 // what the runtime needs for itself
	Heap                     // all of the Go heap, where the runtime cannot be read
	Data                     // variables of the program and its libraries
	Malloc                   // of the C library: brk, and arenas of glibc
	ThreadStacks             // of threads
	Named                    // anonymous memory to which the program gave a name
	Other                    // anonymous memory of which nothing says what it is
	Text                     // code of programs and libraries
	Files                    // other mapped files
	Shared                   // shared memory: tmpfs, memfd, System V
	Uncharged                // pages of the kernel and of devices, which no cgroup is charged for
	Changed                  // what the readings differ by
	Kinds                    // how many there are
)

var kindNames = [Kinds]struct{ key, title string }{
	Live:         {"go_live", "live heap after the last GC"},
	Since:        {"go_since", "allocated since, or not swept"},
	Unused:       {"go_unused", "free in spans (fragmentation)"},
	Free:         {"go_free", "free pages, not yet returned"},
	Repopulated:  {"go_repopulated", "returned, but in memory again"},
	Rounding:     {"go_rounding", "huge pages beyond the heap"},
	Stacks:       {"go_stacks", "stacks of goroutines"},
	Metadata:     {"go_metadata", "GC and runtime metadata"},
	Heap:         {"go_heap", "Go heap"},
	Data:         {"data", "variables of the program (data, bss)"},
	Malloc:       {"malloc", "malloc of the C library"},
	ThreadStacks: {"thread_stacks", "stacks of threads"},
	Named:        {"named", "anonymous memory with a name"},
	Other:        {"other", "other anonymous memory"},
	Text:         {"text", "code"},
	Files:        {"files", "mapped files"},
	Shared:       {"shared", "shared memory"},
	Uncharged:    {"uncharged", "rings of the kernel, devices (not charged)"},
	Changed:      {"changed", "changed while it was read"},
}

// OfRuntime reports whether only the Go runtime tells a part from others, and from what it was
// when it was read before.
func (k Kind) OfRuntime() bool { return k <= Metadata || k == Changed }

// String returns the kind's key in JSON, Title its name in tables.
func (k Kind) String() string { return kindNames[k].key }
func (k Kind) Title() string  { return kindNames[k].title }

// Title returns the title of the kind that has a key; the key if there is none.
func Title(key string) string {
	for _, n := range kindNames {
		if n.key == key {
			return n.title
		}
	}
	return key
}

// How says where a figure comes from.
type How string

const (
	Read      How = "read"      // the kernel or the runtime says so
	Computed  How = "computed"  // from what they say, by a rule
	Remainder How = "remainder" // what nothing else accounts for
)

// A Part is a part of the RSS, in bytes.
type Part struct {
	Kind Kind
	// Bytes is what is in memory. Only that of Changed can be below 0.
	Bytes int64
	// Runtime is what the runtime has of it, in memory or not: see goruntime.Stats. It is
	// nil of what the runtime does not count.
	Runtime *uint64
	// Uncertainty is by how much Runtime changed from the first reading to the last; nil
	// of what was read once.
	Uncertainty *uint64
	How         How
	// Of divides the part by names, largest first.
	Of []Share
}

// A Share is memory of one name.
type Share struct {
	Name  string
	Bytes uint64
}

// A Class is what is in spans for objects of one size.
type Class struct {
	Size                  uint64 // of an object; 0 for large ones, which have a span each
	Spans, Bytes, Objects uint64 // spans; their bytes; the bytes of objects in them
	Resident              uint64 // of Bytes
	Unused                uint64 // of Resident: in no object
}

// A Reading is when something was read, from the beginning on.
type Reading struct {
	What     string
	From, To time.Duration
}

// GC is the state of a garbage collector.
type GC struct {
	Cycles  uint32    // since the program was started
	Last    time.Time // when the last one ended; zero for none
	Marked  uint64    // bytes of the objects that the last one found live
	Objects uint64    // bytes of all objects now, live or not
	Percent int       // GOGC; below 0 it is off
	Limit   *uint64   // GOMEMLIMIT; nil for none
}

// A Waterfall is the memory of a process. All but Beyond are parts of RSS.
type Waterfall struct {
	At  time.Time
	RSS uint64 // the sum of the mappings; the parts add up to it
	// Drift is how far RSS had moved when all was read; nil if that is not known.
	Drift *int64
	Parts []Part // those that have anything, and all that the runtime counts
	// Classes divide the spans for objects, by the memory that is in no object, largest
	// first; nil if the runtime could not be read.
	Classes []Class
	// GC is what the runtime says of its GC; nil if it could not be read, or if there are
	// several.
	GC *GC
	// Runtimes are those of Source, one by one, and then those that could not be read.
	Runtimes []GoRuntime
	// Not part of RSS; nil if not known.
	PageTables, Swap, HugeTLB *uint64
	Readings                  []Reading
	// Allocators are the allocators of C that the process has mapped, such as jemalloc:
	// their memory is other anonymous memory.
	Allocators []string
	// Arenas are those of glibc but for the first: a part of Malloc.
	Arenas Arenas
	Notes  []string
}

// A GoRuntime is a Go runtime in a process: of the program, or of a library. Source knows no
// more of it than what it has in memory; who made the source says the rest.
type GoRuntime struct {
	Path            string // of its file
	Main            bool   // it is that of the program
	Version, Module string // "" if unknown
	Plugins         []string
	Reason          string // why what it has could not be read; "" if it was

	Heap   uint64 // bytes in memory of its heap: from live objects to free pages
	Mapped uint64 // what it has mapped for all, in memory or not: MemStats.Sys
	GC     *GC    // nil if it could not be read
}

// Arenas are arenas of glibc's malloc.
type Arenas struct {
	Count int
	Bytes uint64 // in memory
}

// AllGC is GC, and of several runtimes their sum: the last cycle is that of any, and GOGC the
// highest.
func (w *Waterfall) AllGC() *GC {
	if w.GC != nil {
		return w.GC
	}
	var sum *GC
	for _, r := range w.Runtimes {
		if r.GC == nil {
			continue
		}
		if sum == nil {
			sum = &GC{Percent: -1}
		}
		sum.Cycles, sum.Marked, sum.Objects = sum.Cycles+r.GC.Cycles, sum.Marked+r.GC.Marked, sum.Objects+r.GC.Objects
		sum.Percent = max(sum.Percent, r.GC.Percent)
		if r.GC.Last.After(sum.Last) {
			sum.Last = r.GC.Last
		}
	}
	return sum
}

// Part returns a part, which is empty if the process has none of it.
func (w *Waterfall) Part(k Kind) Part {
	for _, p := range w.Parts {
		if p.Kind == k {
			return p
		}
	}
	return Part{Kind: k}
}
