package thrash

import (
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

const (
	// Least is the effective GOGC that a memory limit must leave. At 10 the GC marks ten bytes for
	// each that the program allocates, ten times the work of the default.
	Least = 10
	// busy is what the GC must take of one CPU at least. A program that rests at its limit has no
	// room either, and no need of it.
	busy = 0.1
	// fewest is how many readings there must be, and how many cycles must end between them: the goal
	// moves within a cycle. A large heap takes long for that.
	fewest = 10
)

// Times are how often a process is read, and for how long the effective GOGC must be low.
type Times struct{ Every, For time.Duration }

// DefaultTimes are those of the command.
var DefaultTimes = Times{Every: time.Second, For: 30 * time.Second}

// A judge decides whether a program dies by GC, from one reading to the next.
type judge struct {
	Times
	since    time.Time     // of the first reading with too low a GOGC of those up to now; zero for none
	readings int           // since then, that one included
	cycles   uint32        // that had ended then, without those of runtime.GC
	gc       time.Duration // the CPU time of the GC then
	told     bool          // it was true
}

// low reports whether the memory limit leaves too little room, and how much. A GOGC that was set
// below Least is what the user wants.
func low(g *goruntime.GC) (percent float64, low bool) {
	percent, limited := g.EffectivePercent()
	return percent, limited && percent < Least && (g.Percent < 0 || g.Percent >= Least)
}

// gcTime is the CPU time of the GC until now.
func gcTime(g *goruntime.GC) time.Duration { return g.CPU.Total() + g.Unfinished.Total() }

// cycles is how many GC cycles ended but for those that the program called for.
func cycles(g *goruntime.GC) uint32 { return g.Cycles - g.Forced }

// add takes a reading. It is true once for each time in which the GOGC stays too low.
func (j *judge) add(now time.Time, g *goruntime.GC) bool {
	if _, low := low(g); !low {
		j.reset()
		return false
	}
	if j.since.IsZero() {
		j.begin(now, g)
		return false
	}
	j.readings++
	lasts := now.Sub(j.since)
	if j.told || lasts < j.For || j.readings < fewest || cycles(g)-j.cycles < fewest {
		return false
	}
	if gcTime(g)-j.gc < time.Duration(busy*float64(lasts)) {
		j.begin(now, g)
		return false
	}
	j.told = true
	return true
}

func (j *judge) begin(now time.Time, g *goruntime.GC) {
	*j = judge{Times: j.Times, since: now, readings: 1, cycles: cycles(g), gc: gcTime(g)}
}

// reset has the next reading be the first.
func (j *judge) reset() { *j = judge{Times: j.Times} }
