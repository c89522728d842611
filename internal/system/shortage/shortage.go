package shortage

import "time"

// Share is the share of the limit from which on memory is short. Below nine tenths it is
// not any more. Between them it is short while tasks wait for memory.
const Share = 0.95

func threshold(limit uint64) uint64 { return uint64(float64(limit) * Share) }
func calm(limit uint64) uint64      { return limit / 10 * 9 }

// A Cause is why a wait ended.
type Cause string

const (
	Limited Cause = "limit" // use has passed Share of the limit
	Stall   Cause = "stall" // tasks wait for memory, of which little is left
	Ended   Cause = "ended" // the process, or the cgroup
)

// An Event is what a wait ended with.
type Event struct {
	Cause Cause
	At    time.Time
	// Group is the directory of the cgroup, "" for the machine.
	Group string
	// Use is Usage less Cache, the file cache that the kernel can take back, in bytes.
	Use, Usage, Cache, Limit uint64
	// High says that Limit is memory.high, at which the kernel slows tasks down.
	High bool
	// Killed says of Ended that an OOM killer ended a process of the cgroup meanwhile.
	Killed bool
}

// Share is the share of the limit that is in use.
func (e *Event) Share() float64 {
	if e.Limit == 0 {
		return 0
	}
	return float64(e.Use) / float64(e.Limit)
}

// A Limit is one that is watched.
type Limit struct {
	Group     string // "" for the machine
	Bytes, At uint64
}
