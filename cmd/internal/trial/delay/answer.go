package delay

import (
	"math/rand/v2"
	"slices"
)

// A State says what is known of the slow requests.
type State string

const (
	Found   State = "found"   // what delays them
	None    State = "none"    // they overlap no known cause more often than chance would have it
	Unclear State = "unclear" // chance may do what was seen of a cause, or hides it
	TooFew  State = "too_few" // slow requests, to tell
)

// An Answer is what delays the slow requests of several runs of one load together.
type Answer struct {
	Runs     int   `json:"runs"`
	Slow     int   `json:"slow_requests"`
	Episodes int   `json:"slow_episodes"`
	State    State `json:"state" redact:"keep"`
	// Cause is the one to name: that of the largest excess, or, of GC cycles, what of them has
	// nearly as much. Where none was found it is the one that is unclear, "" for none.
	Cause Cause `json:"cause,omitempty" redact:"keep"`
	// Causes are those that are known of every run.
	Causes []Share `json:"causes"`
	// None is the part of the slow requests that overlap no cause that was found: with the
	// parts of those it adds up to 1.
	None float64 `json:"none_fraction"`
}

// A Share is the part of the requests that overlap a cause. Shares of several causes overlap.
type Share struct {
	Cause  Cause   `json:"cause" redact:"keep"`
	Slow   float64 `json:"slow_fraction"`
	All    float64 `json:"all_fraction"`
	Chance float64 `json:"chance_fraction"` // of the slow requests, at other times
	// Excess is Slow less Chance, with a 95% interval by resampling runs; null with fewer
	// than 6.
	Excess float64  `json:"excess"`
	Lo     *float64 `json:"excess_lo"`
	Hi     *float64 `json:"excess_hi"`
	// P is in how many draws chance reaches the share.
	P     float64 `json:"p_value"`
	Found bool    `json:"found"`
	// Part is the slow requests whose first cause that was found this is, in the order of
	// [Causes].
	Part float64 `json:"part"`
}

const (
	level     = 0.01
	minExcess = 0.1
	// maxChance is the share from which on chance leaves too little to see: the cause is there
	// nearly always.
	maxChance = 0.8
	minSlow   = 10
	// minEpisodes is how often requests must have been slow: one stall, however many requests
	// it delayed, may fall together with anything.
	minEpisodes = 3
	// nearly is the part of the excess of GC cycles with which pauses, or cycles with assists,
	// are named instead.
	nearly = 0.8

	resamples  = 2000
	fewestRuns = 6
)

// Merge judges runs of one load together. It returns nil where no cause is known of all of
// them. Runs without slow requests are nil, and left out. Counts that were read from a file
// cannot be judged again: they lack the draws.
func Merge(runs []*Counts) *Answer {
	runs = slices.DeleteFunc(slices.Clone(runs), func(c *Counts) bool { return c == nil })
	out := &Answer{Runs: len(runs), Causes: []Share{}}
	for _, r := range runs {
		if r.sets == nil {
			return nil
		}
		out.Slow += r.Slow
		out.Episodes += r.Episodes
	}
	enough := out.Slow >= minSlow && out.Episodes >= minEpisodes
	for _, c := range Causes {
		if of := overlapsOf(runs, c); of != nil {
			s := share(runs, of)
			s.Found = enough && s.P <= level && s.Excess >= minExcess
			out.Causes = append(out.Causes, s)
		}
	}
	if len(out.Causes) == 0 {
		return nil
	}
	out.parts(runs)
	out.name()
	if !enough {
		out.State, out.Cause = TooFew, ""
	}
	return out
}

// overlapsOf returns those of a cause in each run; nil if it is not known of one, or there
// is not a run.
func overlapsOf(runs []*Counts, c Cause) (out []*Overlap) {
	for _, r := range runs {
		i := slices.IndexFunc(r.Causes, func(o Overlap) bool { return o.Cause == c })
		if i < 0 {
			return nil
		}
		out = append(out, &r.Causes[i])
	}
	return out
}

func share(runs []*Counts, of []*Overlap) Share {
	slow, some, all, allSome, reached := 0, 0, 0, 0, 0
	chance := 0.0
	for i, o := range of {
		slow, some, chance = slow+o.Slow, some+o.Some, chance+o.Chance
		all, allSome = all+runs[i].Slow, allSome+runs[i].Some
	}
	for d := range draws {
		n := 0
		for _, o := range of {
			n += o.draws[d]
		}
		if n >= slow {
			reached++
		}
	}
	s := Share{Cause: of[0].Cause, Slow: float64(slow) / float64(all), Chance: chance / float64(all),
		P: float64(reached+1) / (draws + 1)}
	if allSome > 0 {
		s.All = float64(some) / float64(allSome)
	}
	s.Excess = s.Slow - s.Chance
	s.Lo, s.Hi = interval(runs, of)
	return s
}

// interval resamples the runs: requests of one run are not independent.
func interval(runs []*Counts, of []*Overlap) (lo, hi *float64) {
	if len(runs) < fewestRuns {
		return nil, nil
	}
	rng := rand.New(rand.NewPCG(1, uint64(len(runs))))
	values := make([]float64, resamples)
	for i := range values {
		excess, all := 0.0, 0
		for range runs {
			k := rng.IntN(len(runs))
			excess += float64(of[k].Slow) - of[k].Chance
			all += runs[k].Slow
		}
		values[i] = excess / float64(all)
	}
	slices.Sort(values)
	const cut = resamples / 40
	return &values[cut], &values[resamples-1-cut]
}

// parts divides the slow requests among the causes that were found.
func (a *Answer) parts(runs []*Counts) {
	none := 0
	counts := make([]int, len(a.Causes))
	for _, r := range runs {
		for s, n := range r.sets {
			i := slices.IndexFunc(a.Causes, func(c Share) bool { return c.Found && s&(1<<slices.Index(Causes, c.Cause)) != 0 })
			if i < 0 {
				none += n
				continue
			}
			counts[i] += n
		}
	}
	for i := range a.Causes {
		a.Causes[i].Part = float64(counts[i]) / float64(a.Slow)
	}
	a.None = float64(none) / float64(a.Slow)
}

// name chooses the cause to name, among those that were found, else those that are unclear.
func (a *Answer) name() {
	for _, of := range []struct {
		state State
		holds func(Share) bool
	}{
		{Found, func(s Share) bool { return s.Found }},
		{Unclear, func(s Share) bool { return s.Excess >= minExcess || s.Chance >= maxChance }},
	} {
		best := -1
		for i, c := range a.Causes {
			if of.holds(c) && (best < 0 || c.Excess > a.Causes[best].Excess) {
				best = i
			}
		}
		if best < 0 {
			continue
		}
		b := a.Causes[best]
		i := slices.IndexFunc(a.Causes, func(c Share) bool {
			return of.holds(c) && c.Cause.OfGC() && b.Cause.OfGC() && c.Excess >= nearly*b.Excess
		})
		a.State, a.Cause = of.state, b.Cause
		if i >= 0 && i < best {
			a.Cause = a.Causes[i].Cause
		}
		return
	}
	a.State = None
}

// Of returns the share of a cause; nil where it is not known.
func (a *Answer) Of(c Cause) *Share {
	i := slices.IndexFunc(a.Causes, func(s Share) bool { return s.Cause == c })
	if i < 0 {
		return nil
	}
	return &a.Causes[i]
}
