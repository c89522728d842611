package callsite

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/pprof/profile"
)

// Use is what a site has allocated, in all and of that in use.
type Use struct {
	AllocObjects, AllocBytes, InUseObjects, InUseBytes int64
}

// Add adds another.
func (u *Use) Add(v Use) {
	u.AllocObjects += v.AllocObjects
	u.AllocBytes += v.AllocBytes
	u.InUseObjects += v.InUseObjects
	u.InUseBytes += v.InUseBytes
}

// A Change is what became of a site between two heap profiles.
type Change struct {
	Func, File    string
	Line          int64
	In            string // the file of the program or library; "" where there is one
	Inside        string // the function of the standard library that it called and that allocated
	Before, After Use
	// Error is the sampling error of the growth in bytes: with a probability of 95% it is
	// not further off.
	Error float64
	// Callers are those of the stack that grew most, from the caller of the site on.
	Callers []string
}

// Growth returns by how much the bytes in use have grown.
func (c *Change) Growth() int64 { return c.After.InUseBytes - c.Before.InUseBytes }

// Certain reports whether the site has changed by more than the sampling error.
func (c *Change) Certain() bool { return math.Abs(float64(c.Growth())) > c.Error }

// A Diff is two heap profiles of one program compared. Changes add up to the whole.
type Diff struct {
	Before, After Use
	Changes       []Change // most growth first
	// Other says that the second is not of a later time of the same process: it has
	// allocated less.
	Other bool
}

// columns are the types of values of a heap profile.
var columns = [...]string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}

// ErrNotHeap says that a profile is not one of the heap.
var ErrNotHeap = errors.New("not a heap profile: write one with folio inspect --heap FILE PID")

// diffKey is one stack with one size of objects, or a site.
type diffKey struct{ stack, size string }

// Compare compares two heap profiles of one program. They are compared by lines, so the
// process may be another, or the program built again.
func Compare(before, after *profile.Profile) (*Diff, error) {
	type entry struct {
		before, after Use
		size          int64
		sample        *profile.Sample
		in            string
	}
	out := &Diff{}
	all := make(map[diffKey]*entry)
	for i, p := range []*profile.Profile{before, after} {
		var at [len(columns)]int
		for j, c := range columns {
			if at[j] = slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == c }); at[j] < 0 {
				return nil, fmt.Errorf("no values of type %s: %w", c, ErrNotHeap)
			}
		}
		for _, s := range p.Sample {
			u := Use{max(s.Value[at[0]], 0), max(s.Value[at[1]], 0), max(s.Value[at[2]], 0), max(s.Value[at[3]], 0)}
			in := fileOf(p, s)
			k := diffKey{in + "\n" + stackOf(s), fmt.Sprint(s.NumLabel["bytes"])}
			e := all[k]
			if e == nil {
				e = &entry{sample: s, in: in}
				if n := s.NumLabel["bytes"]; len(n) == 1 {
					e.size = n[0]
				} else if u.AllocObjects > 0 {
					e.size = u.AllocBytes / u.AllocObjects
				}
				all[k] = e
			}
			if i == 0 {
				e.before.Add(u)
				out.Before.Add(u)
			} else {
				e.after.Add(u)
				out.After.Add(u)
				e.sample = s
			}
		}
	}
	out.Other = out.After.AllocBytes < out.Before.AllocBytes
	rate := float64(max(before.Period, after.Period))
	type site struct {
		Change
		variance float64
		most     int64
	}
	sites := make(map[string]*site)
	for _, e := range all {
		stack := Stack(e.sample)
		frame, inside, at, _ := Caller(stack)
		key := fmt.Sprintf("%s\n%s\n%s\n%d\n%s", e.in, frame.Func, frame.File, frame.Line, inside)
		s := sites[key]
		if s == nil {
			s = &site{Change: Change{Func: frame.Func, File: frame.File, Line: int64(frame.Line), In: e.in, Inside: inside}, most: math.MinInt64}
			sites[key] = s
		}
		s.Before.Add(e.before)
		s.After.Add(e.after)
		s.variance += Variance(e.before, e.after, float64(e.size), rate, out.Other)
		if g := e.after.InUseBytes - e.before.InUseBytes; g > s.most {
			s.most, s.Callers = g, Callers(stack, at)
		}
	}
	for _, s := range sites {
		s.Error = 1.96 * math.Sqrt(s.variance)
		out.Changes = append(out.Changes, s.Change)
	}
	slices.SortFunc(out.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.Growth(), a.Growth()), strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line),
			strings.Compare(a.Func, b.Func), strings.Compare(a.Inside, b.Inside), strings.Compare(a.In, b.In))
	})
	return out, nil
}

// Variance returns that of the growth of objects of one size: an object of s bytes is
// sampled with probability p = 1-exp(-s/rate), and stands for s/p. Only those count that
// came or went: what is in both profiles has the same error in both. other says that they
// are of different processes.
func Variance(before, after Use, size, rate float64, other bool) float64 {
	if rate <= 1 || size <= 0 {
		return 0
	}
	came, went := after.InUseObjects, before.InUseObjects
	if !other {
		allocated := max(after.AllocObjects-before.AllocObjects, 0)
		freed := max(allocated-(after.InUseObjects-before.InUseObjects), 0)
		came, went = min(came, allocated), min(went, freed)
	}
	return float64(came+went) * size * size / math.Expm1(size/rate) // (1-p)/p
}

// stackOf names a stack by its functions and lines.
func stackOf(s *profile.Sample) string {
	var b strings.Builder
	for _, f := range Stack(s) {
		fmt.Fprintf(&b, "%s %d\n", f.Func, f.Line)
	}
	return b.String()
}
