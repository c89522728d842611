package tune

import (
	"math"
	"slices"
	"strconv"

	"github.com/foliomem/folio/cmd/internal/trial"
)

// defaultGOGC is that of the Go runtime.
const defaultGOGC = 100

// coarseGOGC are the levels that every search tries. The default arm is one of them, unless
// the environment sets another.
var coarseGOGC = []int{25, 50, defaultGOGC, 200, 400, 800, 1600, 3200}

// minLimit is the least GOMEMLIMIT that is tried: below it the runtime's own
// few megabytes decide, not the program.
const minLimit = 16 << 20

// limitFactors are the multiples of the default arm's heap peak at which
// GOMEMLIMIT is tried with GOGC=off.
var limitFactors = []float64{2, 4, 8, 16}

// A space is the set of settings that a search may try.
type space struct {
	base   trial.Setting   // what every arm has: the user's own flags
	env    trial.Setting   // what the environment sets, which a setting that names another value replaces
	guard  uint64          // with --max-rss, or in a cgroup: the limit that every growing arm gets; else 0
	tight  bool            // with --max-rss: the limits are parts of the bound, not multiples of the heap
	top    uint64          // the largest GOMEMLIMIT that may be tried
	heap   uint64          // heap peak of the default arm
	try    []trial.Setting // variables to cross with the best
	tail   bool            // the tail of a load is to be short
	thpOff bool            // whether thp=off may differ from the default

	noGo bool // no process is a Go program: only huge pages of the system may matter

	fixed []trial.Setting // the coarse arms, of tests; else they are worked out

	collapse bool // whether thp=collapse is possible, and the heap large enough for it
	huge     bool // whether thp=heap is possible
	always   bool // the system gives every program huge pages: asking should change little
}

// effect is a setting with what the environment and the Go runtime add where it sets
// nothing: settings whose effect is the same are the same for the program.
func (sp *space) effect(s trial.Setting) trial.Setting {
	out := s.With(sp.env.With(s))
	if out.GOGC == "" {
		out.GOGC = strconv.Itoa(defaultGOGC)
	}
	return out
}

// apart returns the settings of a list whose effects differ, the first of each.
func (sp *space) apart(list []trial.Setting) []trial.Setting {
	seen := make(map[string]bool)
	return slices.DeleteFunc(list, func(s trial.Setting) bool {
		name := sp.effect(s).String()
		if seen[name] {
			return true
		}
		seen[name] = true
		return false
	})
}

// gogc returns from with another GOGC.
func (sp *space) gogc(from trial.Setting, n int) trial.Setting {
	from.GOGC, from.MemLimit = strconv.Itoa(n), sp.base.MemLimit
	if n > 100 {
		from.MemLimit = sp.guard
	}
	return from
}

// Levels returns settings of GOGC, those above the default of Go with a memory limit; 0 for none.
func Levels(percents []int, guard uint64) (out []trial.Setting) {
	sp := &space{guard: guard}
	for _, n := range percents {
		out = append(out, sp.gogc(trial.Setting{}, n))
	}
	return out
}

// limit returns from with no GC cycles below a limit.
func (sp *space) limit(from trial.Setting, bytes uint64) trial.Setting {
	from.GOGC, from.MemLimit = trial.Off, bytes
	return from
}

// coarse returns the first arms, most informative first: when the budget is
// small only the head of the list is tried. The GC is never off without
// a memory limit: a program that leaks would take the machine with it.
func (sp *space) coarse() []trial.Setting {
	if sp.fixed != nil {
		return append([]trial.Setting{sp.base}, sp.fixed...)
	}
	if sp.noGo {
		return sp.apart(append([]trial.Setting{sp.base}, sp.crosses(sp.base)...))
	}
	out := sp.apart(sp.levels())
	if at := 3; sp.tail && len(sp.try) > 0 && len(out) > at {
		// While the GC runs, requests wait for a P: how many there are decides as much about a
		// tail as what the heap may have.
		set := out[1]
		set.GOGC, set.MemLimit = sp.base.GOGC, sp.base.MemLimit
		out = sp.apart(slices.Insert(out, at, set.With(sp.try[0])))
	}
	return out
}

// levels returns the levels of the GC, with huge pages and without.
func (sp *space) levels() []trial.Setting {
	if !sp.huge || sp.always {
		return sp.ladder(sp.base)
	}
	// What collecting less often gains and what huge pages gain hang together: without
	// huge pages each further megabyte of heap costs page faults. So the levels are
	// tried with them, and a few of them without, to see what they do; the best is
	// crossed with the other way later.
	out := []trial.Setting{sp.base}
	for _, s := range sp.ladder(sp.onHuge(sp.base)) {
		out = append(out, s)
		if s.GOGC == "400" || s.GOGC == "800" {
			out = append(out, sp.gogc(sp.base, sp.level(s)))
		}
	}
	return out
}

// onHuge returns s with the heap on huge pages.
func (sp *space) onHuge(s trial.Setting) trial.Setting {
	s.THP = trial.THPHeap
	return s
}

// other returns s with the heap asking for huge pages if it does not, and without
// if it does: how much they have in what s gains.
func (sp *space) other(s trial.Setting) []trial.Setting {
	switch s.THP {
	case trial.THPSystem:
		return []trial.Setting{sp.onHuge(s)}
	case trial.THPHeap:
		s.THP = trial.THPSystem
		return []trial.Setting{s}
	}
	return nil
}

// ladder returns base and all levels of the GC with it.
func (sp *space) ladder(base trial.Setting) []trial.Setting {
	out := []trial.Setting{base}
	add := func(n int) { out = append(out, sp.gogc(base, n)) }
	add(400)
	add(defaultGOGC)
	out = append(out, sp.limit(base, sp.top))
	for _, n := range []int{200, 800, 1600, 50, 3200} {
		add(n)
	}
	for _, l := range sp.limits() {
		out = append(out, sp.limit(base, l))
	}
	add(25)
	return out
}

// limits returns the limits to try below the top one, ascending and apart
// enough to tell them apart.
func (sp *space) limits() []uint64 {
	var out []uint64
	last := uint64(0)
	add := func(l uint64) {
		l = roundLimit(l)
		if l > last && float64(l)*1.2 < float64(sp.top) {
			out, last = append(out, l), l
		}
	}
	// A cgroup may have much more room than the program ever needs, or hardly any.
	if sp.tight || sp.guard != 0 && 1.2*limitFactors[0]*float64(sp.heap) >= float64(sp.top) {
		for _, part := range []float64{0.4, 0.55, 0.75} {
			add(uint64(part * float64(sp.top)))
		}
		return out
	}
	for _, f := range limitFactors {
		add(uint64(f * float64(sp.heap)))
	}
	return out
}

// roundLimit rounds up to a size that is pleasant to type: two significant
// binary digits above the MiB.
func roundLimit(n uint64) uint64 {
	n = max(n, minLimit)
	step := uint64(1 << 20)
	for n/step >= 64 {
		step *= 2
	}
	return (n + step - 1) / step * step
}

// floorLimit rounds down likewise: a bound must not grow.
func floorLimit(n uint64) uint64 {
	step := uint64(1 << 20)
	for n/step >= 1024 {
		step *= 2
	}
	return max(n/step*step, 1<<20)
}

// around returns the settings half-way, on the log scale, between s and its
// neighbors in the coarse space.
func (sp *space) around(s trial.Setting) []trial.Setting {
	var out []trial.Setting
	if sp.noGo {
		return nil
	}
	if sp.effect(s).GOGC == trial.Off {
		ladder := append(sp.limits(), sp.top)
		for i, l := range ladder {
			if l != s.MemLimit {
				continue
			}
			if i > 0 {
				out = append(out, sp.limit(s, middle(ladder[i-1], l)))
			}
			if i+1 < len(ladder) {
				out = append(out, sp.limit(s, middle(l, ladder[i+1])))
			}
		}
		return out
	}
	for _, f := range []float64{math.Sqrt2 / 2, math.Sqrt2} {
		n := int(math.Round(float64(sp.level(s)) * f))
		if n > 25 && n < coarseGOGC[len(coarseGOGC)-1] {
			out = append(out, sp.gogc(s, n))
		}
	}
	return out
}

// level returns the GOGC of a setting that has one, or that of the environment.
func (sp *space) level(s trial.Setting) int {
	if n, err := strconv.Atoi(sp.effect(s).GOGC); err == nil {
		return n
	}
	return defaultGOGC
}

func middle(a, b uint64) uint64 {
	return roundLimit(uint64(math.Sqrt(float64(a) * float64(b))))
}

// crosses returns s with the further dimensions that the user asked for or that
// this machine offers.
func (sp *space) crosses(s trial.Setting) []trial.Setting {
	out := []trial.Setting{s}
	for _, t := range sp.try {
		out = append(out, s.With(t))
	}
	if sp.thpOff && s.THP == trial.THPSystem {
		c := s
		c.THP = trial.THPOff
		out = append(out, c)
	}
	if sp.huge {
		out = append(out, sp.other(s)...)
	}
	if sp.collapse && s.THP == trial.THPSystem {
		c := s
		c.THP = trial.THPCollapse
		out = append(out, c)
	}
	return sp.apart(out)[1:]
}

// grid returns every setting that a search could ever try, for an exhaustive
// comparison: the coarse arms, all that lies between them, and the crosses of
// the default.
func (sp *space) grid() []trial.Setting {
	out := sp.coarse()
	for _, s := range sp.coarse() {
		out = append(out, sp.around(s)...)
	}
	out = append(out, sp.crosses(sp.base)...)
	if sp.huge {
		for _, s := range sp.apart(slices.Clone(out)) {
			out = append(out, sp.other(s)...)
		}
	}
	return sp.apart(out)
}
