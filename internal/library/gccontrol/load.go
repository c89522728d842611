package gccontrol

import (
	"math"
	"time"
)

// load tells a program that waits, for requests as a rule, from one that is busy: by the part of
// its CPUs that it used of late.
type load struct {
	waits      bool
	late, long float64 // share of its CPUs: of late, and for longer
	at, cpu    time.Duration
	known      bool
}

// A program waits once it has used less than waitsBelow of its CPUs for some seconds. It is busy
// again only after it has used more than busyAbove for much longer: work comes in bursts, and
// memory that is given up has to be faulted in again.
const (
	lateTime   = 3 * time.Second
	longTime   = 60 * time.Second
	waitsBelow = 0.6
	busyAbove  = 0.85
)

// add takes a sample in and reports whether waits has changed. A program is busy until it has
// been seen to wait.
func (l *load) add(s *Sample) bool {
	elapsed, used := s.Time-l.at, s.CPU-l.cpu
	l.at, l.cpu = s.Time, s.CPU
	if !l.known {
		l.known, l.late, l.long = true, 1, 1
		return false
	}
	if elapsed <= 0 || used < 0 || s.CPUs <= 0 {
		return false
	}
	now := min(used.Seconds()/elapsed.Seconds()/float64(s.CPUs), 1)
	follow := func(v *float64, over time.Duration) {
		*v += (now - *v) * -math.Expm1(-elapsed.Seconds()/over.Seconds())
	}
	follow(&l.late, lateTime)
	follow(&l.long, longTime)
	switch {
	case !l.waits && l.late < waitsBelow:
		l.waits, l.long = true, l.late // what came before it waited does not count
	case l.waits && min(l.late, l.long) > busyAbove:
		l.waits = false
	default:
		return false
	}
	return true
}
