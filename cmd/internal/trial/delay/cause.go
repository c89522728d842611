package delay

// A Cause is something that may delay requests.
type Cause string

const (
	Pause       Cause = "stop_the_world"
	Throttled   Cause = "cpu_quota"    // the cgroup used up its CPU quota
	MemoryStall Cause = "memory_stall" // tasks waited for memory (PSI)
	Assists     Cause = "gc_cycle_with_assists"
	Cycle       Cause = "gc_cycle"    // any, with assists or without
	Faults      Cause = "page_faults" // more than twice the mean
)

// Causes are all, the more specific first: a request that overlaps several is the part of
// the first that was found.
var Causes = []Cause{Pause, Throttled, MemoryStall, Assists, Cycle, Faults}

// Text names the cause in a sentence: slow requests overlap it.
func (c Cause) Text() string {
	switch c {
	case Pause:
		return "a stop-the-world pause"
	case Throttled:
		return "throttling by the CPU quota"
	case MemoryStall:
		return "a memory stall"
	case Assists:
		return "a GC cycle with assists"
	case Cycle:
		return "a GC cycle"
	case Faults:
		return "page faults above usual"
	}
	return string(c)
}

// OfGC says that it is a GC cycle, or a part of one.
func (c Cause) OfGC() bool { return c == Pause || c == Assists || c == Cycle }
