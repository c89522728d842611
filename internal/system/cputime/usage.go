// Package cputime is the CPU time of this process, and how much of the CPUs it uses.
package cputime

import "time"

// Usage is how many CPUs the process used of late: in the last span that is long enough.
type Usage struct {
	Least time.Duration // of a span: the kernel counts in ticks
	Share float64       // 0 until a span has passed

	at  time.Time
	cpu time.Duration // of the process, at that time
}

// Note takes the CPU time of the process so far.
func (u *Usage) Note(now time.Time, cpu time.Duration) {
	since := now.Sub(u.at)
	if !u.at.IsZero() && since < u.Least {
		return
	}
	if !u.at.IsZero() {
		u.Share = float64(cpu-u.cpu) / float64(max(since, 1))
	}
	u.at, u.cpu = now, cpu
}
