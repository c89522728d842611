package gctrace

import (
	"bytes"
	"time"
)

// Summary adds up the GC cycles of a run. The zero value is ready to use.
type Summary struct {
	Cycles int // GC cycles counted
	Forced int // of them started by runtime.GC

	CPU       time.Duration // all CPU time, idle mark workers included
	IdleCPU   time.Duration // CPU time of idle mark workers alone
	AssistCPU time.Duration // CPU time taken from goroutines that allocate
	PauseCPU  time.Duration // CPU time in which the world was stopped

	PauseTotal time.Duration // world stopped, in all
	PauseMax   time.Duration // of the longest cycle, its two stops together

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
	total := c.Pause()
	s.PauseTotal += total
	s.PauseMax = max(s.PauseMax, total)
	s.HeapPeak = max(s.HeapPeak, c.HeapEnd)
	s.LivePeak = max(s.LivePeak, c.HeapLive)
	s.HeapSum += c.HeapEnd
	s.LiveSum += c.HeapLive
}

// A Counter counts the GC cycles of a stream by the lines of the trace in it, those that stand
// by themselves. It is an io.Writer; its zero value is ready.
type Counter struct {
	Summary
	// Gaps says that there were more cycles: a line was disturbed, or is missing.
	Gaps bool
	// Until is when the last cycle ended, since its process started.
	Until time.Duration

	line []byte
	last int // number of the last cycle
}

// mostLine bounds a line: no line of a trace is as long.
const mostLine = 1 << 10

// Write never fails.
func (c *Counter) Write(p []byte) (int, error) {
	n := len(p)
	for {
		part, rest, ended := bytes.Cut(p, []byte("\n"))
		c.line = append(c.line, part[:min(len(part), mostLine-len(c.line))]...)
		if !ended {
			return n, nil
		}
		c.End()
		p = rest
	}
}

// End ends the line, as the end of a file may.
func (c *Counter) End() {
	cycle, err := Parse(c.line)
	if err != nil {
		c.Gaps = c.Gaps || bytes.Contains(c.line, []byte(" ms clock, "))
	} else {
		c.Gaps, c.last = c.Gaps || cycle.N != c.last+1, cycle.N
		c.Until = max(c.Until, cycle.At+cycle.Clock())
		c.Add(cycle)
	}
	c.line = c.line[:0]
}
