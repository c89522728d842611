package gctune

import "time"

// Sample is what was measured at a moment. Counts run from the start of the
// process, so that nothing is lost when a sample is; sizes are bytes, as they are
// now.
type Sample struct {
	// Time since any fixed moment.
	Time time.Duration
	// Cycles is how many collections are complete, Forced how many of them the
	// program asked for (runtime.GC): those cost the same whatever GOGC is.
	Cycles, Forced uint64
	// GCTime is the processor time of the collections that are complete, CPU
	// that of the whole process. Marking that only used idle processors is in
	// neither.
	GCTime, CPU time.Duration
	// Allocated is all that was ever allocated on the heap.
	Allocated uint64
	// Work is all that the program has done, in any unit. It is used when
	// HasWork is set.
	Work    uint64
	HasWork bool

	// Live is the heap that the last collection found reachable.
	Live uint64
	// Scan is stacks and globals: GOGC counts them as if they were live heap.
	Scan uint64
	// Overhead is memory that the runtime uses for other things than objects
	// of the heap: stacks, its own structures, fragmentation.
	Overhead uint64
	// Rest is the resident memory of the process that the runtime does not
	// know of: C, mappings, the program's own text.
	Rest uint64
	// Ready is what the runtime has of the system: the heap, its garbage and its
	// free pages, and Overhead. Idle is about what of it could be given back: free
	// pages, and garbage.
	Ready, Idle uint64

	// Budget is what the whole process may use; 0 when nobody knows. Hard is
	// what it must not exceed or be killed, 0 when there is no such limit.
	Budget, Hard uint64
	// Reserve is what may be used beyond Budget before that is a failure: the
	// heap is kept within Budget, and the memory limit is that of both.
	Reserve uint64
	// Pressure is the share of the last seconds in which some thread of the
	// container or the machine waited for memory; 0 also when unknown.
	Pressure float64

	// GOGC and MemoryLimit are the settings in force. GOGC is negative for off;
	// MemoryLimit is math.MaxInt64 for none.
	GOGC        int
	MemoryLimit int64
}

// State is what a Controller is doing.
type State int

const (
	Resting   State = iota // GOGC is as Go has it: collection costs little, or nothing is known yet
	Spending               // memory is spent on fewer collections
	Holding                // as spending, but more memory was found to buy nothing
	Shrinking              // less is spent than would pay: there is no more memory
	Emergency              // the live heap leaves hardly any room: the budget cannot be met
	UserSet                // the user has set GOGC: it is left alone
)

var stateNames = [...]string{"resting", "spending", "holding", "shrinking", "emergency", "user-set"}

// String returns the state as a word.
func (s State) String() string {
	if s < 0 || int(s) >= len(stateNames) {
		return "unknown"
	}
	return stateNames[s]
}

// Reason is why a Controller is in its state.
type Reason int

const (
	NothingKnown  Reason = iota // no collection has been measured yet
	Cheap                       // collection costs little
	Costly                      // collection costs too much
	Frequent                    // collections follow each other too fast
	NoGain                      // more memory was found to buy nothing
	BudgetBound                 // the budget allows no more
	UnknownMemory               // nobody knows how much memory there is, so little is spent
	CeilingBound                // Params.Ceiling allows no more
	Pressure                    // threads wait for memory
	BudgetUnmet                 // live heap and budget do not go together
	UserGOGC                    // GOGC was set by the user
)

var reasonNames = [...]string{
	"nothing known yet", "collection costs little", "collection costs too much", "collections too frequent", "more memory buys nothing",
	"the budget is used", "memory of the machine unknown", "the ceiling is reached", "memory pressure", "the budget cannot be met", "GOGC was set by the user",
}

// String returns the reason in a few words.
func (r Reason) String() string {
	if r < 0 || int(r) >= len(reasonNames) {
		return "unknown"
	}
	return reasonNames[r]
}

// Decision is what a Controller wants.
type Decision struct {
	State  State
	Reason Reason

	// GOGC and MemoryLimit are the settings that should be in force. They are
	// those of the sample when nothing should change.
	GOGC        int
	MemoryLimit int64
	// UserGOGC and UserLimit say that the user has set one, so that it is left
	// alone.
	UserGOGC, UserLimit bool

	// Goal is the heap at which the next collection will end, in bytes, as far
	// as GOGC decides it.
	Goal uint64
	// Budget of the sample, in bytes.
	Budget uint64
	// Cost is the share of the processor time that collection takes now,
	// CostAtBase what it would take with GOGC=100.
	Cost, CostAtBase float64
	// Short is how many bytes the budget lacks for the live heap, the floor
	// under it and the rest of the process; 0 when it does not.
	Short uint64
	// Growth is the trend of the live heap in bytes per second when it has
	// risen without a pause for a while, so that it looks like a leak and not
	// like a peak; 0 otherwise.
	Growth float64
	// Return says that memory which the heap does not need should be given back to
	// the system at once: something else in the process needs it.
	Return bool
	// Audit says that a comparison of two settings is going on.
	Audit bool
}
