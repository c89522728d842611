package tune

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/unit"
)

// A gcSeen is what the GC did under a setting. Cycles alone are not proof: those of a
// child that throws its standard error away are not seen. But who collects more often
// has a smaller heap and takes other page faults.
type gcSeen struct {
	cycles float64 // median of the runs
	most   float64
	memory float64
	faults float64
	known  bool
}

func seen(a *Arm) gcSeen {
	cycles := trial.FigureOf("gc_cycles").Values(a.Samples)
	out := gcSeen{memory: memory(a), faults: stat.Median(trial.FigureOf("minor_faults").Values(a.Samples))}
	out.known = len(cycles) > 0 && len(cycles) == len(a.Samples) && out.memory > 0
	if out.known {
		out.cycles, out.most = stat.Median(cycles), slices.Max(cycles)
	}
	return out
}

const (
	// fewCycles is how many GC cycles it takes to tell two settings by them.
	fewCycles = 5
	// startCycles is how many there may be before a program turns its GC off.
	startCycles = 1
	// alikeWithin is how far the figures of settings that do the same may be apart: the
	// GC runs beside the program, so they vary a little.
	alikeWithin = 0.1
)

// like says whether the GC did the same under two settings, as far as can be seen: as
// many cycles, several of them, or none in any run; in as much memory, with as many
// page faults.
func (g gcSeen) like(h gcSeen) bool {
	none := g.most <= startCycles && h.most <= startCycles
	several := math.Min(g.cycles, h.cycles) >= fewCycles && near(g.cycles, h.cycles, alikeWithin)
	return g.known && h.known && (none || several) && near(g.memory, h.memory, alikeWithin) && near(g.faults, h.faults, alikeWithin)
}

func near(x, y, within float64) bool { return math.Abs(x-y) <= within*math.Max(x, y) }

// alike takes settings out of the race that do what another one does: all of a
// program that sets its GC itself, and limits and levels that it never reaches.
func (s *search) alike() {
	if s.opts.Only != nil {
		return // they are what is to be compared
	}
	if s.sched.Rounds() == s.raced+1 {
		s.inert()
	}
	s.unreached()
}

// inert finds out whether GOGC and GOMEMLIMIT do anything: levels of GOGC that are
// far apart, or a limit instead of them, should change the GC.
func (s *search) inert() {
	def := seen(s.ref())
	if !def.known {
		return
	}
	var levels, limits []*Arm
	least, most := math.Inf(1), 0.0
	for _, a := range s.res.Arms {
		switch {
		case a == s.ref() || !alive(a) || !s.onlyGC(a.Setting):
		case a.Setting.GOGC == trial.Off:
			limits = append(limits, a)
		default:
			levels = append(levels, a)
			n := float64(s.space.level(a.Setting))
			least, most = math.Min(least, n), math.Max(most, n)
		}
	}
	like := func(a *Arm) bool { return seen(a).like(def) }
	all := func(arms []*Arm) bool {
		return len(arms) > 0 && !slices.ContainsFunc(arms, func(a *Arm) bool { return !like(a) })
	}
	// Fewer cycles than none cannot be: only a level below the default's can show that
	// GOGC does nothing for a program without a cycle. The default may be any level.
	const apart = 4
	s.inertGOGC = all(levels) && most >= apart*least && (def.most > startCycles || least < 100)
	s.inertLimit = all(limits) && (def.most > startCycles || s.inertGOGC)
	for _, d := range []struct {
		inert bool
		arms  []*Arm
	}{{s.inertGOGC, levels}, {s.inertLimit, limits}} {
		for _, a := range d.arms {
			if d.inert {
				a.Status, a.Reason = Same, "changes nothing: GC cycles and memory are those of the default"
			}
		}
	}
	highest := 0.0
	for _, a := range slices.Concat([]*Arm{s.ref()}, levels, limits) {
		highest = math.Max(highest, seen(a).most)
	}
	s.sayInert(def, highest)
}

// noGo leaves out what does nothing for a command without a Go program.
func (s *search) noGo() {
	s.space.noGo, s.space.try, s.res.noGo = true, nil, true
	s.inertGOGC, s.inertLimit = true, true
	s.res.Inert = "no Go program was seen in the first run, and " + unit.Enumerate(trial.GoVariableNames()) + " are settings of Go programs"
	s.note(s.res.Inert)
	s.note("what a daemon starts for the command, such as a container, is not seen: give the Go program itself")
}

// onlyGC says whether a setting differs from the base by GOGC and GOMEMLIMIT alone.
func (s *search) onlyGC(set trial.Setting) bool {
	return set.WithoutGC() == s.space.base.WithoutGC()
}

// sayInert notes in a line what changes nothing.
func (s *search) sayInert(def gcSeen, most float64) {
	what := ""
	switch {
	case s.inertGOGC && s.inertLimit:
		what = "GOGC and GOMEMLIMIT change nothing"
	case s.inertGOGC:
		what = "GOGC changes nothing"
	case s.inertLimit:
		what = "GOMEMLIMIT changes nothing"
	default:
		return
	}
	cycles, why := "no GC cycle", "the program turns the GC off itself (debug.SetGCPercent), or ends before it is needed"
	switch {
	case most > 0 && most <= startCycles:
		cycles = "at most 1 GC cycle"
	case most > 0:
		cycles = strconv.FormatFloat(def.cycles, 'f', -1, 64) + " GC cycles"
		why = "the program sets them itself (debug.SetGCPercent, debug.SetMemoryLimit) or calls runtime.GC"
	}
	s.res.Inert = fmt.Sprintf("%s: %s and %s under every value tried; %s", what, cycles, unit.Bytes(def.memory), why)
	s.note(s.res.Inert)
}

// unreached takes out settings under which the GC never ran, but one of those that are alike.
func (s *search) unreached() {
	var never, kept []*Arm
	for _, a := range s.res.Arms {
		if g := seen(a); alive(a) && g.known && g.most <= startCycles {
			never = append(never, a)
		}
	}
	slices.SortStableFunc(never, s.prefer)
	for _, a := range never {
		i := slices.IndexFunc(kept, func(b *Arm) bool { return sameBut(a, b) && seen(a).like(seen(b)) })
		if i < 0 {
			kept = append(kept, a)
			continue
		}
		a.Status, a.Reason = Same, "the same as "+kept[i].Name+": no more than one GC cycle under either"
	}
	for _, a := range never {
		if alive(a) && a.Setting.GOGC == trial.Off {
			s.modest(a)
		}
	}
	s.limited()
}

// limited takes out levels of GOGC above those from which on the limit alone decides
// when the GC runs: the least of them stays.
func (s *search) limited() {
	for _, a := range s.res.Arms {
		for _, b := range s.res.Arms {
			if !alive(a) || !alive(b) || a == b || a.Setting.MemLimit == 0 || a.Setting.MemLimit != b.Setting.MemLimit ||
				len(a.Samples) < 2 || len(b.Samples) < 2 || !sameBut(a, b) || !s.higher(a, b) {
				continue
			}
			ga, gb := seen(a), seen(b)
			if ga.like(gb) && near(ga.cycles, gb.cycles, band) && near(ga.memory, gb.memory, band) {
				a.Status, a.Reason = Same, "the same as "+b.Name+": the limit decides when the GC runs"
			}
		}
	}
}

// sameBut says whether two settings differ by GOGC and GOMEMLIMIT at most.
func sameBut(a, b *Arm) bool {
	return a.Setting.WithoutGC() == b.Setting.WithoutGC()
}

// higher says whether a lets the GC run less often than b, by GOGC alone.
func (s *search) higher(a, b *Arm) bool {
	if b.Setting.GOGC == trial.Off {
		return false
	}
	return a.Setting.GOGC == trial.Off || s.space.level(a.Setting) > s.space.level(b.Setting)
}

// prefer sorts settings under which the GC never runs by which is to be kept: one that leaves the
// GC as it is by default, then the lowest GOGC, which is safe with a larger live heap too, then the
// lowest GOMEMLIMIT; that comes first where memory is limited. A GOGC that has had its rounds of the
// race is kept before one that has not: it would have to show the same again.
func (s *search) prefer(a, b *Arm) int {
	def := s.def().Setting
	rank := func(x *Arm) (int, float64) {
		switch set := x.Setting; {
		case set.GOGC == def.GOGC && set.MemLimit == def.MemLimit:
			return 0, 0
		case set.GOGC != trial.Off:
			return 2, float64(s.space.level(set))
		case s.res.bounded:
			return 1, float64(set.MemLimit)
		default:
			return 3, float64(set.MemLimit)
		}
	}
	raced := func(x *Arm) int {
		if x.Setting.GOGC != trial.Off && len(x.Samples) >= fewRounds {
			return 0
		}
		return 1
	}
	ra, va := rank(a)
	rb, vb := rank(b)
	return cmp.Or(cmp.Compare(ra, rb), cmp.Compare(raced(a), raced(b)), cmp.Compare(va, vb))
}

// modest enters, for a limit far above what the program takes, one that it only
// just does not reach: nobody should have to trust a program with all memory.
func (s *search) modest(a *Arm) {
	const room = 1.25
	limit := roundLimit(uint64(room * mostMemory(a)))
	if float64(limit)*room > float64(a.Setting.MemLimit) {
		return
	}
	set := a.Setting
	set.MemLimit = limit
	s.add(set)
}
