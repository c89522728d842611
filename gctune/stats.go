package gctune

import "github.com/foliomem/folio/internal/library/gccontrol"

// State is what a Tuner does now. Its String is the word in the log.
type State int

const (
	// StateInactive: GOGC is at its default. GC costs little, or no GC cycle was measured
	// yet.
	StateInactive State = iota
	// StateSpending: GOGC is raised, so memory is spent on fewer GC cycles.
	StateSpending
	// StateHolding: GOGC is raised, and stays where it is: more memory saved nothing, or
	// threads waited for memory.
	StateHolding
	// StateShrinking: GOGC is lower than would pay, as the budget is used up or threads wait
	// for memory.
	StateShrinking
	// StateEmergency: the live heap does not fit into the budget. See Options.OnUnmet.
	StateEmergency
	// StateUserSet: GOGC is set in the environment or by the program, and left alone.
	StateUserSet
)

// String returns "inactive", "spending", "holding", "shrinking", "emergency" or "user-set".
func (s State) String() string { return gccontrol.State(s).String() }

// Stats is what a Tuner has done and measured. Sizes are bytes; shares are from 0 to 1.
type Stats struct {
	State  State
	Reason string // why it is in this state, in a few words

	GOGC        int   // in force, in percent; negative for off
	MemoryLimit int64 // in force; math.MaxInt64 for none
	// UserGOGC and UserLimit are true if the user has set GOGC or the memory limit, in the
	// environment or with runtime/debug. The tuner leaves that setting alone.
	UserGOGC, UserLimit bool

	Goal  uint64 // heap size at which the next GC cycle ends by GOGC
	Short uint64 // by how much the live heap and memory outside the runtime exceed the budget; 0 if they fit
	Live  uint64 // heap that the last GC cycle found reachable
	NonGo uint64 // resident memory outside the Go runtime; Linux only
	// Growth is the trend of the live heap in bytes per second if it has grown steadily, which
	// suggests a leak; else 0.
	Growth float64

	Cost       float64 // GC share of CPU time at these settings
	CostAtBase float64 // what it would be at GOGC=100

	Budget       uint64 // for the whole process; 0 if unknown
	BudgetSource string // where it comes from
	// Hard is how much the process can use before the kernel kills it, or slows it down at
	// memory.high: the cgroup's limit less what others in it use, or 95% of the machine's
	// available memory, this process's own included. 0 if unknown.
	Hard uint64
	// Pressure is the share of time in which some thread waited for memory (PSI, of the cgroup
	// or the machine), read once a second. 0 if unknown. From 0.1 on, the tuner lowers a
	// raised GOGC.
	Pressure float64

	Wakes        uint64 // how often the tuner has woken
	GOGCChanges  uint64 // how often it set GOGC
	LimitChanges uint64 // how often it set the memory limit
	Releases     uint64 // how often free heap memory was released at once, because memory outside the runtime grew
	Unmet        uint64 // how often the live heap came to exceed the budget
	SecondP      uint64 // GC cycles for which the program had a second P, see Options.SecondP
}

// decide takes what was decided.
func (s *Stats) decide(d *gccontrol.Decision) {
	s.State, s.Reason, s.GOGC, s.MemoryLimit = State(d.State), d.Reason.String(), d.GOGC, d.MemoryLimit
	s.UserGOGC, s.UserLimit, s.Goal, s.Short = d.UserGOGC, d.UserLimit, d.Goal, d.Short
	s.Cost, s.CostAtBase, s.Growth, s.Budget = d.Cost, d.CostAtBase, d.Growth, d.Budget
}
