package gctrace

import (
	"strconv"
	"time"
)

// Cycle is one garbage collection as the runtime reported it.
type Cycle struct {
	N       int           // number of the GC cycle in its process, from 1
	At      time.Duration // start of the GC cycle, since the process started
	Percent int           // CPU time spent in GC since the process started

	// Wall-clock time of the three phases. The world is stopped in the first
	// and in the last.
	SweepTermClock, MarkClock, MarkTermClock time.Duration

	// CPU time. Background is that of dedicated and fractional mark workers.
	// Idle is that of mark workers on otherwise idle processors.
	SweepTermCPU, AssistCPU, BackgroundCPU, IdleCPU, MarkTermCPU time.Duration

	// Heap size in bytes at the start and at the end of the GC cycle, what of
	// it was live, and the goal of the GC cycle. The runtime prints whole MiB,
	// rounded down.
	HeapStart, HeapEnd, HeapLive, Goal uint64

	// Bytes of stacks and globals to scan, also in whole MiB.
	// Printed since Go 1.18; HasStacks says whether they were.
	Stacks, Globals uint64
	HasStacks       bool

	Procs     int  // GOMAXPROCS
	Forced    bool // started by runtime.GC
	LeakCheck bool // looked for leaked goroutines (since Go 1.26)
}

// CPU returns all the CPU time of the GC cycle, including the time of idle
// mark workers, which nothing else wanted.
func (c Cycle) CPU() time.Duration {
	return c.SweepTermCPU + c.AssistCPU + c.BackgroundCPU + c.IdleCPU + c.MarkTermCPU
}

// Clock returns for how long the GC cycle ran, by the clock.
func (c Cycle) Clock() time.Duration { return c.SweepTermClock + c.MarkClock + c.MarkTermClock }

// Pause returns for how long the GC cycle stopped the world, in total and in
// the longer of its two pauses.
func (c Cycle) Pause() (total, longest time.Duration) {
	return c.SweepTermClock + c.MarkTermClock, max(c.SweepTermClock, c.MarkTermClock)
}

// String returns the line without its newline as the runtime prints it. For a
// Cycle from [Parse] that is the line that was parsed.
func (c Cycle) String() string {
	b := make([]byte, 0, 192)
	b = append(b, "gc "...)
	b = strconv.AppendInt(b, int64(c.N), 10)
	b = append(b, " @"...)
	b = appendSeconds(b, c.At)
	b = append(b, "s "...)
	b = strconv.AppendInt(b, int64(c.Percent), 10)
	b = append(b, '%')
	if c.LeakCheck {
		b = append(b, leakCheck...)
	}
	b = append(b, ": "...)
	for i, d := range [...]time.Duration{c.SweepTermClock, c.MarkClock, c.MarkTermClock} {
		if i > 0 {
			b = append(b, '+')
		}
		b = appendMillis(b, d)
	}
	b = append(b, " ms clock, "...)
	for i, d := range [...]time.Duration{c.SweepTermCPU, c.AssistCPU, c.BackgroundCPU, c.IdleCPU, c.MarkTermCPU} {
		if i > 0 {
			b = append(b, "+//+"[i-min(i, 1)])
		}
		b = appendMillis(b, d)
	}
	b = append(b, " ms cpu, "...)
	b = appendMiB(b, c.HeapStart, "->")
	b = appendMiB(b, c.HeapEnd, "->")
	b = appendMiB(b, c.HeapLive, " MB, ")
	b = appendMiB(b, c.Goal, " MB goal, ")
	if c.HasStacks {
		b = appendMiB(b, c.Stacks, " MB stacks, ")
		b = appendMiB(b, c.Globals, " MB globals, ")
	}
	b = strconv.AppendInt(b, int64(c.Procs), 10)
	b = append(b, " P"...)
	if c.Forced {
		b = append(b, forced...)
	}
	return string(b)
}

func appendMiB(b []byte, n uint64, unit string) []byte {
	return append(strconv.AppendUint(b, n>>20, 10), unit...)
}

// appendSeconds writes d with three decimals, rounded down.
func appendSeconds(b []byte, d time.Duration) []byte {
	ms := uint64(max(d, 0) / time.Millisecond)
	b = append(strconv.AppendUint(b, ms/1000, 10), '.')
	return appendFraction(b, ms%1000, 3)
}

// appendMillis writes d in the runtime's way: two significant digits, at most
// three decimals, none from 10 ms on.
func appendMillis(b []byte, d time.Duration) []byte {
	us := uint64(max(d, 0) / time.Microsecond)
	switch {
	case us == 0:
		return append(b, '0')
	case us >= 10000:
		return strconv.AppendUint(b, us/1000, 10)
	case us >= 1000:
		b = append(strconv.AppendUint(b, us/1000, 10), '.')
		return appendFraction(b, us%1000/100, 1)
	case us >= 100:
		return appendFraction(append(b, "0."...), us/10, 2)
	}
	return appendFraction(append(b, "0."...), us, 3)
}

func appendFraction(b []byte, v uint64, digits int) []byte {
	for p := pow10(digits - 1); p > 0; p /= 10 {
		b = append(b, byte('0'+v/p%10))
	}
	return b
}

func pow10(n int) uint64 {
	p := uint64(1)
	for range n {
		p *= 10
	}
	return p
}

// Summary adds up the GC cycles of a run. The zero value is ready to use.
type Summary struct {
	Cycles int // GC cycles counted
	Forced int // of them started by runtime.GC

	CPU       time.Duration // all CPU time, idle mark workers included
	IdleCPU   time.Duration // CPU time of idle mark workers alone
	AssistCPU time.Duration // CPU time taken from goroutines that allocate
	PauseCPU  time.Duration // CPU time in which the world was stopped

	Clock      time.Duration // cycles ran, in all: time between their starts and ends
	PauseTotal time.Duration // world stopped, in all
	PauseMax   time.Duration // longest single pause

	HeapPeak uint64 // largest HeapEnd, in bytes
	LivePeak uint64 // largest HeapLive, in bytes

	// Sums over all GC cycles, for means, in bytes. Each size was rounded
	// down to whole MiB.
	HeapSum, LiveSum uint64
}

// Add counts c.
func (s *Summary) Add(c Cycle) {
	s.Cycles++
	if c.Forced {
		s.Forced++
	}
	s.CPU += c.CPU()
	s.IdleCPU += c.IdleCPU
	s.AssistCPU += c.AssistCPU
	s.PauseCPU += c.SweepTermCPU + c.MarkTermCPU
	total, longest := c.Pause()
	s.Clock += c.Clock()
	s.PauseTotal += total
	s.PauseMax = max(s.PauseMax, longest)
	s.HeapPeak = max(s.HeapPeak, c.HeapEnd)
	s.LivePeak = max(s.LivePeak, c.HeapLive)
	s.HeapSum += c.HeapEnd
	s.LiveSum += c.HeapLive
}

// Merge adds what another run counted.
func (s *Summary) Merge(o Summary) {
	s.Cycles += o.Cycles
	s.Forced += o.Forced
	s.CPU += o.CPU
	s.IdleCPU += o.IdleCPU
	s.AssistCPU += o.AssistCPU
	s.PauseCPU += o.PauseCPU
	s.Clock += o.Clock
	s.PauseTotal += o.PauseTotal
	s.PauseMax = max(s.PauseMax, o.PauseMax)
	s.HeapPeak = max(s.HeapPeak, o.HeapPeak)
	s.LivePeak = max(s.LivePeak, o.LivePeak)
	s.HeapSum += o.HeapSum
	s.LiveSum += o.LiveSum
}
