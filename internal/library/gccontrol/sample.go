package gccontrol

import "time"

// Sample is one measurement of the process. Counts run from the start of the
// process, so that nothing is lost if a sample is; sizes are current, in bytes.
type Sample struct {
	// Time since a fixed moment.
	Time time.Duration
	// Cycles counts complete GC cycles, Forced those of them that the program
	// asked for (runtime.GC): they cost the same whatever GOGC is.
	Cycles, Forced uint64
	// GCTime is the CPU time of complete GC cycles, CPU that of the whole process.
	// Neither includes marking by idle workers.
	GCTime, CPU time.Duration
	// CPUs is how many CPUs the program may use at once, GOMAXPROCS; 0 if unknown. A program that
	// leaves much of them idle waits, for requests as a rule.
	CPUs int
	// Allocated is the total of all heap allocations.
	Allocated uint64
	// Work is the total work done, in any unit. It is used if HasWork is set.
	Work    uint64
	HasWork bool

	// Live is the heap that the last GC cycle found reachable.
	Live uint64
	// Scan is stacks and globals, which GOGC counts like live heap.
	Scan uint64
	// Overhead is the runtime's memory other than heap objects: stacks, its own
	// structures, fragmentation.
	Overhead uint64
	// NonGo is resident memory outside the Go runtime: C, mappings, the program's
	// own text.
	NonGo uint64
	// Committed is the memory that the runtime has from the OS and not released:
	// live heap, garbage, free pages and Overhead. Releasable is about how much of it
	// can be released: free pages and garbage.
	Committed, Releasable uint64

	// Budget is the most that the whole process may use; 0 if unknown. Hard is the
	// limit at which it is killed, 0 for none.
	Budget, Hard uint64
	// Limited is true if somebody set a limit that Budget follows: for the cgroup, or as
	// [Options].Budget.
	Limited bool
	// Reserve may be used beyond Budget: GOGC keeps the heap within Budget, the
	// memory limit within both.
	Reserve uint64
	// Pressure is the share of the last seconds in which some thread of the
	// container or machine waited for memory (PSI); 0 if unknown.
	Pressure float64

	// GOGC and MemoryLimit are the settings in force. GOGC is negative for off;
	// MemoryLimit is math.MaxInt64 for none.
	GOGC        int
	MemoryLimit int64
}

// State is the state of a Controller.
type State int

const (
	Inactive  State = iota // GOGC is at its default: GC costs little, or nothing is known yet
	Spending               // memory is spent on fewer GC cycles
	Holding                // as Spending, but more memory was found to save nothing
	Shrinking              // less is spent than would pay, for lack of memory
	Emergency              // the live heap does not fit into the budget
	UserSet                // the user has set GOGC: it is left alone
)

var stateNames = [...]string{"inactive", "spending", "holding", "shrinking", "emergency", "user-set"}

// String returns the state in one word.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "unknown"
	}
	return stateNames[s]
}

// Reason is why a Controller is in its state.
type Reason int

const (
	NothingKnown  Reason = iota // no GC cycle has been measured yet
	Cheap                       // GC costs little
	Costly                      // GC costs too much
	Frequent                    // GC cycles are too frequent
	NoGain                      // more memory was found to save nothing
	BudgetBound                 // the budget is used
	UnknownMemory               // the machine's memory is unknown, so little is spent
	CeilingBound                // Params.Ceiling is reached
	Pressure                    // threads wait for memory
	BudgetUnmet                 // the live heap does not fit into the budget
	UserGOGC                    // the user has set GOGC
	PriceBound                  // more memory costs more than the CPU time it saves
)

var reasonNames = [...]string{
	"no GC cycle yet", "GC costs little", "GC costs too much", "GC too frequent", "more memory saves nothing",
	"budget used", "memory of the machine unknown", "ceiling reached", "memory pressure",
	"live heap exceeds the budget", "GOGC set by the user",
	"more memory costs more than it saves",
}

// String returns the reason in a few words.
func (r Reason) String() string {
	if r < 0 || int(r) >= len(reasonNames) {
		return "unknown"
	}
	return reasonNames[r]
}

// Decision is what a Controller decides.
type Decision struct {
	State  State
	Reason Reason

	// GOGC and MemoryLimit are the settings to apply: those of the sample if
	// nothing is to change.
	GOGC        int
	MemoryLimit int64
	// UserGOGC and UserLimit are true if the user has set GOGC or the memory
	// limit, which is then left alone.
	UserGOGC, UserLimit bool

	// Goal is the heap size at which the next GC cycle ends by GOGC, in bytes.
	Goal uint64
	// Budget of the sample, in bytes.
	Budget uint64
	// Cost is the GC share of CPU time at these settings, CostAtBase that at
	// GOGC=100.
	Cost, CostAtBase float64
	// Short is by how many bytes the live heap with its floor, and memory outside
	// the runtime, exceed the budget; 0 if they fit.
	Short uint64
	// Growth is the trend of the live heap in bytes per second if it has grown
	// steadily, which suggests a leak; else 0.
	Growth float64
	// Release asks for free heap memory to be returned to the OS at once, because
	// memory outside the runtime grows.
	Release bool
	// Audit is true while two settings are compared.
	Audit bool
}
