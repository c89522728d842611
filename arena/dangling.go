package arena

import (
	"fmt"
	"runtime"
)

// Dangling is a report of debug mode: memory that was allocated from an arena is still
// reachable after the arena was freed or reset, or put into a Pool, because a pointer to it
// was kept.
type Dangling struct {
	Arena   string // the name in the arena's options
	Type    string // of the values
	Slabs   int    // how many slabs of the type are reachable
	Objects int    // how many values the slabs held: one or more of them is reachable
	Made    string // the stack that made the arena
	Freed   string // the stack of the Free
	How     string // Free, Reset or Put
}

// String returns the report as text of several lines.
func (d Dangling) String() string {
	name := ""
	if d.Arena != "" {
		name = fmt.Sprintf(" %q", d.Arena)
	}
	return fmt.Sprintf("arena%s: memory is still reachable after %s: a pointer to one or more of %d values of type %s, in %d slabs, was kept\nthe arena was made by\n%sand %s was called by\n%s",
		name, d.How, d.Objects, d.Type, d.Slabs, d.Made, d.How, d.Freed)
}

// OnDangling sets the function that debug mode calls with each report, on a goroutine of its
// own. nil, the default, writes reports to standard error.
func OnDangling(f func(Dangling)) {
	quarantined.mu.Lock()
	defer quarantined.mu.Unlock()
	quarantined.report = f
}

// CheckDangling runs GC cycles and reports, in debug mode, what freed memory is still
// reachable: for the end of a test or a program, since otherwise debug mode waits for the
// program's own GC cycles. It returns how many reports there were since it was last called;
// outside debug mode it does nothing and returns 0. It must not be called from the function
// given to [OnDangling].
//
// FOLIO=arenadebug=on in the environment, or the build tag foliodebug, turns on debug mode.
// Freed slabs are then not reused but held by weak pointers. One that is still reachable after
// two whole GC cycles is reported: where the arena was made and freed, the type, and how many
// values the slab held. Panics of misuse give the same detail.
//
// On a busy machine a report may be of a dead pointer, since the GC scans a goroutine that was
// preempted asynchronously conservatively. GODEBUG=asyncpreemptoff=1 prevents that.
func CheckDangling() int {
	if !debugging {
		return 0
	}
	for range patience {
		runtime.GC()
	}
	quarantined.inspect()
	quarantined.inspection.Lock()
	defer quarantined.inspection.Unlock()
	n := quarantined.reports
	quarantined.reports = 0
	return n
}

// group makes one report of the slabs of one type and one end of an arena.
func group(found []*suspect) (all []Dangling) {
	type key struct {
		made, freed *uintptr
		typ         string
	}
	index := map[key]int{}
	for _, s := range found {
		k := key{first(s.record.made), first(s.record.freed), s.typ}
		i, ok := index[k]
		if !ok {
			i = len(all)
			index[k] = i
			all = append(all, Dangling{Arena: s.record.name, Type: s.typ, How: s.record.how, Made: stack(s.record.made),
				Freed: stack(s.record.freed)})
		}
		all[i].Slabs++
		all[i].Objects += s.objects
	}
	return all
}

// first identifies a stack that was recorded: no two share memory.
func first(pcs []uintptr) *uintptr {
	if len(pcs) == 0 {
		return nil
	}
	return &pcs[0]
}
