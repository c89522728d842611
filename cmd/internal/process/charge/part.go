package charge

import (
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/waterfall"
)

// Kind says what a part of the charge is for. Those of anonymous memory of processes are those of
// package waterfall, by their keys.
type Kind string

// Kinds of parts, but for those of package waterfall, in the order in which they are shown.
const (
	Undivided      Kind = "undivided"           // of processes whose parts could not be read
	OfProcesses    Kind = "anonymous"           // of all processes, which have more than is charged
	Elsewhere      Kind = "anonymous_elsewhere" // mapped by no process of the cgroup
	Unsplit        Kind = "unsplit"             // released parts of huge pages that are in use
	Unmapped       Kind = "unmapped"            // mapped by no process for another reason
	SwapCache      Kind = "swap_cache"
	SharedMapped   Kind = "shared_mapped"
	SharedUnmapped Kind = "shared_unmapped"
	CacheInactive  Kind = "cache_inactive"
	CacheActive    Kind = "cache_active"
	CacheLocked    Kind = "cache_locked"
	Reclaimable    Kind = "slab_reclaimable"
	Unreclaimable  Kind = "slab_unreclaimable"
	KernelStacks   Kind = "kernel_stacks"
	PageTables     Kind = "page_tables"
	Sockets        Kind = "sockets"
	PerCPU         Kind = "percpu"
	Vmalloc        Kind = "vmalloc"
	Zswap          Kind = "zswap"
	Hugetlb        Kind = "hugetlb"
	KernelOther    Kind = "kernel_other"
)

// Back says whether memory comes back by itself when the cgroup runs short.
type Back string

const (
	Yes    Back = "yes"    // the kernel takes it back
	No     Back = "no"     // until somebody releases it
	Partly Back = "partly" // some of it; how much is not known
	Swap   Back = "swap"   // the kernel moves it to swap
)

var kinds = []struct {
	kind  Kind
	title string
	back  Back
}{
	{Undivided, "anonymous memory of processes that are not divided", No},
	{OfProcesses, "anonymous memory of its processes", No},
	{Elsewhere, "anonymous memory of no process in the cgroup", No},
	{Unsplit, "huge pages, released in part (not split yet)", Yes},
	{Unmapped, "anonymous memory that no process maps", Partly},
	{SwapCache, "swap cache", Yes},
	{SharedMapped, "shared memory and tmpfs, mapped", No},
	{SharedUnmapped, "shared memory and tmpfs, mapped by no process", No},
	{CacheInactive, "page cache, inactive", Yes},
	{CacheActive, "page cache, active", Yes},
	{CacheLocked, "page cache, locked or just read", Partly},
	{Reclaimable, "kernel: slab, reclaimable (dentries, inodes)", Yes},
	{Unreclaimable, "kernel: slab, unreclaimable", No},
	{KernelStacks, "kernel: stacks of threads", No},
	{PageTables, "kernel: page tables", No},
	{Sockets, "kernel: socket buffers", No},
	{PerCPU, "kernel: per-CPU memory", No},
	{Vmalloc, "kernel: vmalloc", No},
	{Zswap, "kernel: compressed swap (zswap)", No},
	{Hugetlb, "hugetlb pages", No},
	{KernelOther, "kernel: other (slab, pipes, BPF)", Partly},
}

// anonymous are the kinds of package waterfall that are anonymous memory.
var anonymous = []waterfall.Kind{
	waterfall.Live, waterfall.Since, waterfall.Unused, waterfall.Free, waterfall.Repopulated, waterfall.Rounding, waterfall.Stacks, waterfall.Metadata,
	waterfall.Heap, waterfall.Data, waterfall.Malloc, waterfall.ThreadStacks, waterfall.Named, waterfall.Other, waterfall.Changed,
}

// Title returns the title of a kind for tables; the kind itself if it is unknown.
func (k Kind) Title() string {
	for _, x := range kinds {
		if x.kind == k {
			return x.title
		}
	}
	return waterfall.Title(string(k))
}

// swappable reports whether a part is anonymous memory, or shared memory: what goes to swap.
func (k Kind) swappable() bool {
	return k == Undivided || k == OfProcesses || k == Elsewhere || k == SharedMapped || k == SharedUnmapped ||
		slices.ContainsFunc(anonymous, func(a waterfall.Kind) bool { return a.String() == string(k) })
}

// Back says whether memory of a kind comes back by itself; swap says that the cgroup may use swap.
func (k Kind) Back(swap bool) Back {
	if swap && k.swappable() {
		return Swap
	}
	for _, x := range kinds {
		if x.kind == k {
			return x.back
		}
	}
	return No
}

// A Part is a part of the charge.
type Part struct {
	Kind  Kind
	Bytes uint64
	Back  Back
	How   waterfall.How
	// Of names what the part may be: mounts of tmpfs and others that hold shared memory, or what
	// processes have of [OfProcesses]. Each has at most the part; together they may have more, of
	// what other cgroups are charged for.
	Of []waterfall.Share
}

// Kinds of what is in RSS, and not charged.
const (
	ApartRings     Kind = "rings"
	ApartAnonymous Kind = "apart_anonymous"
	ApartFiles     Kind = "apart_files"
	ApartShared    Kind = "apart_shared"
)

// ApartTitle returns the title of a kind of what is not charged.
func ApartTitle(k Kind) string {
	switch k {
	case ApartRings:
		return "rings of the kernel (packet sockets, perf), memory of devices"
	case ApartAnonymous:
		return "anonymous memory: charged to another cgroup, or shared after a fork"
	case ApartFiles:
		return "mapped files: charged to another cgroup, or mapped by several processes"
	case ApartShared:
		return "shared memory: charged to another cgroup, or mapped by several processes"
	}
	return string(k)
}

// An Apart is memory that is in the RSS of processes and not charged to their cgroup, or counted
// in the RSS of several processes.
type Apart struct {
	Kind  Kind
	Bytes uint64
}

// A Process is a process of the cgroup.
type Process struct {
	PID     int
	Command []string
	Name    string // the kernel's
	UID     *int
	// IsGo is nil if that is not known; the others are of a Go program.
	IsGo              *bool
	GoVersion, Module string

	RSS uint64
	// Anonymous, File and Shared are what RSS is of, as the kernel counts it; nil if it does not.
	Anonymous, File, Shared *uint64
	// Waterfall divides RSS; nil if it could not be read, and Why says why.
	Waterfall *waterfall.Waterfall
	Why       string
}

// A Charge is what a memory cgroup is charged for.
type Charge struct {
	At      time.Time
	Dir     string // of the cgroup
	Unified bool   // version 2
	Usage   uint64
	Limit   *uint64 // in effect; nil for none
	Moved   int64   // by how much Usage moved while it was read

	// Parts have something each, in the order in which they are shown. With Unexplained and less
	// Excess they add up to Usage.
	Parts []Part
	// Unexplained is what nothing accounts for, and Excess by how much the parts are more than
	// Usage: they are read one after the other. One of them is 0.
	Unexplained, Excess uint64
	// Reserve is how much of Unexplained can be what the kernel charged in advance: for each CPU
	// that the cgroup ran on.
	Reserve uint64

	// Of the page cache; nil if not known.
	Dirty, Writeback, Mapped *uint64
	// LazyFree is anonymous memory, a part of those of processes, that MADV_FREE freed: it comes
	// back by itself.
	LazyFree uint64

	Apart []Apart
	// Not part of Usage; nil if not known. TCP is version 1's alone.
	Swap, TCP *uint64

	Processes []Process // those with most memory first
	Advice    []Advice  // what is to be done about parts that no RSS shows, the largest first
	Took      time.Duration
	Notes     []string
}

// Part returns a part, which is empty if there is none.
func (c *Charge) Part(k Kind) Part {
	for _, p := range c.Parts {
		if p.Kind == k {
			return p
		}
	}
	return Part{Kind: k}
}

// Sum is what the parts add up to.
func (c *Charge) Sum() (n uint64) {
	for _, p := range c.Parts {
		n += p.Bytes
	}
	return n
}
