// Package perf samples a process tree with perf_event_open(2): where each of
// its threads is, several hundred times for each second of CPU time, and
// which code takes page faults. The programs need not be changed, restarted or
// privileged.
package perf

import (
	"fmt"
	"os"
)

// Kind says what a sample is a sample of.
type Kind uint8

const (
	CPU   Kind = iota // CPU time
	Fault             // page faults
	// TLBMiss is counted only: of loads that the processor had to walk the page
	// tables for.
	TLBMiss
)

func (k Kind) String() string {
	switch k {
	case CPU:
		return "cpu"
	case Fault:
		return "fault"
	case TLBMiss:
		return "tlb miss"
	}
	return fmt.Sprintf("kind %d", uint8(k))
}

// Sample is one look at a thread. It, and its slices, are valid only during the
// call of the handler.
type Sample struct {
	Kind     Kind
	PID, TID int
	CPU      int
	Time     uint64 // in ns, of CLOCK_MONOTONIC
	// Period is what the sample stands for: of kind CPU, CPU time in ns
	// from the clock, and cycles where [Info].Hardware is set; of kind Fault, a
	// number of faults. What a thread did on a processor since its last sample
	// there is in none: by the clock that is half a sample for each thread and
	// processor, and all of a process that lives for less than a period. For
	// faults see [Session.Faults].
	Period   uint64
	Addr     uint64 // of kind Fault: the address that was not there
	InKernel bool   // the thread was in the kernel
	// Kernel and User are the call chains, innermost first. All but the first
	// address of each are return addresses. Kernel is empty where the kernel's
	// side cannot be seen.
	//
	// User follows frame pointers: a function that has no frame yet, or never has
	// one, as many of those in assembly, hides its caller. See Return.
	Kernel, User []uint64
	// Return is the return address of the innermost function in User if that has
	// no frame: on amd64 the word at the top of the stack, on arm64 the link
	// register. If the function has a frame, it is any word. 0 if unknown.
	Return uint64
}

// Mapping is executable memory of a process.
type Mapping struct {
	PID               int
	Addr, Len, Offset uint64
	// Path is as the process sees it, which may be in another root; empty for
	// memory without a file, in brackets for the kernel's own ("[vdso]"). A file
	// that is gone has " (deleted)" at its end.
	Path         string
	Exec         bool
	Major, Minor uint32 // of the device
	Inode        uint64
}

// Handler is told what happened. Those that are nil are
// skipped. They must not call the session. PIDs and so on are those of
// processes, not threads.
type Handler struct {
	Sample func(*Sample)
	Mmap   func(*Mapping)
	// Exec says that a process runs another program now: its mappings are gone,
	// those of the new program follow.
	Exec func(pid int, comm string)
	// Fork says that a process began as a copy of another, with its mappings.
	Fork func(pid, parent int)
	// Exit says that the last thread of a process ended.
	Exit func(pid int)
}

// Config says what to sample. Zero fields have defaults.
type Config struct {
	// Frequency is in samples per second of CPU time; 997 by default. It
	// is a prime number, so that it does not beat with what the program does a
	// hundred or a thousand times a second. The system may allow less.
	Frequency int
	Faults    bool // sample page faults as well
	// RingBytes is the buffer for each processor, which must hold what comes
	// between two drains: a number of pages that is a power of two, 512 KiB by
	// default. That is what the system lets users lock by default
	// (perf_event_mlock_kb); where it allows less, the buffer is smaller.
	RingBytes int
}

// Info says what a session sees.
type Info struct {
	Hardware  bool   // samples come from the processor's cycle counter, not from a clock
	Kernel    bool   // the kernel's side is seen
	Faults    bool   // page faults are seen
	Frequency int    // in samples per second of CPU time
	RingBytes int    // the buffer for each processor
	Reason    string // what cannot be seen, why, and how to allow it; empty if all can
}

const (
	defaultFrequency = 997
	defaultRing      = 512 << 10
)

func (c Config) complete() (Config, error) {
	if c.Frequency == 0 {
		c.Frequency = defaultFrequency
	}
	if c.RingBytes == 0 {
		c.RingBytes = max(defaultRing, os.Getpagesize())
	}
	if c.Frequency < 1 {
		return c, fmt.Errorf("sample: the frequency is %d Hz: it must be at least 1", c.Frequency)
	}
	if page := os.Getpagesize(); c.RingBytes < page || c.RingBytes&(c.RingBytes-1) != 0 {
		return c, fmt.Errorf("sample: a buffer of %d bytes: it must be pages of %d bytes, their number a power of two", c.RingBytes, page)
	}
	return c, nil
}
