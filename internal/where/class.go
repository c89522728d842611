package where

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
	// Kernel is the time in the kernel that is neither a system call nor a page
	// fault (interrupts), and all of it where the kernel's side cannot be seen.
	Kernel Class = "kernel"
)

// ClassInfo describes a class.
type ClassInfo struct {
	Class  Class
	Title  string
	Memory bool // part of the memory tax: what managing memory costs
}

// Classes are all classes in the order of reports.
var Classes = []ClassInfo{
	{GCMark, "marking", true},
	{GCAssist, "mark assist", true},
	{GCSweep, "sweeping", true}, // and returning memory to the kernel
	{WriteBarrier, "write barrier", true},
	{Allocation, "allocation", true},
	{Zeroing, "zeroing", true},
	{Growth, "growing slices, maps, stacks", true},
	{PageFaults, "page faults", true},
	{Scheduler, "scheduler and locks", false},
	{Syscalls, "system calls", false},
	{Program, "the program's own work", false},
	{Other, "other runtime work", false},
	{Kernel, "other kernel time", false},
}

// Info returns the description of a class; unknown ones describe themselves.
func (c Class) Info() ClassInfo {
	if i := slices.IndexFunc(Classes, func(k ClassInfo) bool { return k.Class == c }); i >= 0 {
		return Classes[i]
	}
	return ClassInfo{Class: c, Title: string(c)}
}
