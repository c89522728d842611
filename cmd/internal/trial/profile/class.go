package profile

import "slices"

// Class is what time is spent on. Its values are identifiers in results and do
// not change.
type Class string

const (
	GCMark       Class = "gc_mark"
	GCAssist     Class = "gc_assist"
	GCSweep      Class = "gc_sweep"
	WriteBarrier Class = "write_barrier"
	Allocation   Class = "allocation"
	Zeroing      Class = "zeroing"
	Growth       Class = "growth"
	PageFaults   Class = "page_faults"
	Scheduler    Class = "scheduler"
	Syscalls     Class = "syscalls"
	Program      Class = "program"
	Other        Class = "other"
	// Unnamed is the time in code whose names are not known: it may be any of the classes.
	Unnamed Class = "unnamed"
	// Kernel is the time in the kernel that is neither a system call nor a page
	// fault (interrupts), and all of it where the kernel's side cannot be seen.
	Kernel Class = "kernel"
)

// ClassInfo describes a class.
type ClassInfo struct {
	Class  Class
	Title  string
	Memory bool // part of the memory tax: what managing memory costs
	GC     bool // part of the GC share, and so of the memory tax
}

// Classes are all classes in the order of reports.
var Classes = []ClassInfo{
	{GCMark, "marking", true, true},
	{GCAssist, "mark assist", true, true},
	{GCSweep, "sweeping", true, true}, // and returning memory to the OS
	{WriteBarrier, "write barrier", true, true},
	{Allocation, "allocation", true, false},
	{Zeroing, "zeroing", true, false},
	{Growth, "growing slices, maps, stacks", true, false},
	{PageFaults, "page faults", true, false},
	{Scheduler, "scheduler and locks", false, false},
	{Syscalls, "system calls", false, false},
	{Program, "the program's own work", false, false},
	{Other, "other runtime work", false, false},
	{Unnamed, "code without names", false, false},
	{Kernel, "other kernel time", false, false},
}

// GC are the classes of the GC share: what a program would not spend if nothing
// were ever collected. This is the only definition of the GC share in Folio.
// gctrace and runtime/metrics count something else: the time of GC workers from
// start to end, also while they wait for a CPU, without sweeping and write
// barriers.
var GC = func() (out []Class) {
	for _, k := range Classes {
		if k.GC {
			out = append(out, k.Class)
		}
	}
	return out
}()

// Fewest is the number of samples below which nothing is said of shares.
const Fewest = 20

// mostUnnamed is the part of the time in code without names above which the shares of the
// other classes say nothing.
const mostUnnamed = 0.05

// Info returns the description of a class; unknown ones describe themselves.
func (c Class) Info() ClassInfo {
	if i := slices.IndexFunc(Classes, func(k ClassInfo) bool { return k.Class == c }); i >= 0 {
		return Classes[i]
	}
	return ClassInfo{Class: c, Title: string(c)}
}
