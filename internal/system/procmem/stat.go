package procmem

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Stat is /proc/PID/stat, as far as Folio uses it.
// See proc_pid_stat(5).
type Stat struct {
	PID  int
	Comm string // at most 15 bytes, any of them, also spaces and parentheses
	// State is R, S, D, Z, T, t, X, I or P. A process whose main thread has
	// ended while others run is also Z: see [Stat.Zombie].
	State   byte
	PPID    int // the subreaper or init once the parent is dead
	PGRP    int
	Session int
	// Forked is set until the process first calls exec: it is a copy of its parent,
	// or runs in the memory of it.
	Forked bool
	// Kernel is set for a thread of the kernel, which never has memory of its own.
	Kernel bool

	MinFlt, MajFlt   uint64 // page faults of this process
	CMinFlt, CMajFlt uint64 // and of its children, once it has waited for them

	UTime, STime   time.Duration // in steps of 10 ms: USER_HZ is 100
	CUTime, CSTime time.Duration // of its children, once it has waited for them
	Threads        int
	StartTime      time.Duration // after boot, in steps of 10 ms
}

// Zombie reports whether the process is dead and waits to be reaped.
func (s Stat) Zombie() bool {
	return s.State == 'X' || s.State == 'Z' && s.Threads <= 1
}

// Why the status of a process has no memory: see [FS.NoMemory].
var (
	ErrKernelThread       = errors.New("a thread of the kernel: it has no memory of its own")
	ErrEnding       error = endingError{} // an ErrNoProcess
	ErrMainThread         = errors.New("its main thread has ended: the kernel does not show the memory of the other threads")
)

type endingError struct{}

func (endingError) Error() string        { return "it is ending: its memory has been freed" }
func (endingError) Is(target error) bool { return target == ErrNoProcess }

// NoMemory says why a process has no memory in its status: one of the errors above, or
// one of reading /proc/PID/stat, for which [Gone] may hold.
func (f FS) NoMemory(pid int) error {
	s, err := f.Stat(pid)
	switch {
	case err != nil:
		return err
	case s.Kernel:
		return ErrKernelThread
	case s.State == 'Z' && !s.Zombie():
		return ErrMainThread
	}
	return ErrEnding
}

// Stat reads /proc/PID/stat; pid 0 is the calling process.
func (f FS) Stat(pid int) (Stat, error) {
	return load(f.procPath(pid, "stat"), parseStat)
}

// userHz is the unit of the times in /proc. It is part of the kernel's
// interface, 100 on every architecture that Go runs on, whatever CONFIG_HZ is.
const userHz = 100

func parseStat(data []byte) (Stat, error) {
	var s Stat
	// The name is printed as it is, so it may contain ") R 1": only the last
	// parenthesis ends it.
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return s, errors.New("no (name)")
	}
	s.Comm = string(data[open+1 : end])
	pid, err := strconv.Atoi(strings.TrimSpace(string(data[:open])))
	if err != nil {
		return s, fmt.Errorf("pid: %w", err)
	}
	s.PID = pid

	// Fields are counted as in the manual: 3 is the state.
	const first, last = 3, 22
	fields := strings.Fields(string(data[end+1:]))
	if len(fields) < last-first+1 {
		return s, fmt.Errorf("%d fields after the name, want %d or more", len(fields), last-first+1)
	}
	if len(fields[0]) != 1 {
		return s, fmt.Errorf("state %q", fields[0])
	}
	s.State = fields[0][0]
	for _, v := range []struct {
		field int
		set   func(string) error
	}{
		{4, setInt(&s.PPID)},
		{5, setInt(&s.PGRP)},
		{6, setInt(&s.Session)},
		{9, setFlags(&s.Forked, &s.Kernel)},
		{10, setUint(&s.MinFlt)},
		{11, setUint(&s.CMinFlt)},
		{12, setUint(&s.MajFlt)},
		{13, setUint(&s.CMajFlt)},
		{14, setTicks(&s.UTime)},
		{15, setTicks(&s.STime)},
		{16, setTicks(&s.CUTime)},
		{17, setTicks(&s.CSTime)},
		{20, setInt(&s.Threads)},
		{22, setTicks(&s.StartTime)},
	} {
		if err := v.set(fields[v.field-first]); err != nil {
			return s, fmt.Errorf("field %d: %w", v.field, err)
		}
	}
	return s, nil
}

func setInt(dst *int) func(string) error {
	return func(text string) (err error) {
		*dst, err = strconv.Atoi(text)
		return err
	}
}

func setFlags(forked, kernel *bool) func(string) error {
	return func(text string) error {
		const (
			forkNoExec = 0x40     // PF_FORKNOEXEC
			kthread    = 0x200000 // PF_KTHREAD
		)
		n, err := strconv.ParseUint(text, 10, 64)
		*forked, *kernel = n&forkNoExec != 0, n&kthread != 0
		return err
	}
}

func setUint(dst *uint64) func(string) error {
	return func(text string) (err error) {
		*dst, err = strconv.ParseUint(text, 10, 64)
		return err
	}
}

func setTicks(dst *time.Duration) func(string) error {
	return func(text string) error {
		const tick = time.Second / userHz
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return err
		}
		if n > uint64(math.MaxInt64/tick) {
			return errOverflow
		}
		*dst = time.Duration(n) * tick
		return nil
	}
}
