package ab

import (
	"cmp"
	"math"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// A Profile is what differs in where the CPU time goes.
type Profile struct {
	N           int         `json:"n"` // rounds in which both were sampled
	BaseSamples uint64      `json:"base_samples"`
	Samples     uint64      `json:"samples"`
	Classes     []ClassDiff `json:"classes"`
	// Sites are functions that cause memory work, most changed first.
	Sites []SiteDiff `json:"sites"`
}

// A ClassDiff is what a class differs in, in CPU-seconds a run.
type ClassDiff struct {
	Class        profile.Class `json:"class" redact:"keep"`
	Base         float64       `json:"base_seconds"` // mean
	Seconds      float64       `json:"seconds"`      // mean
	Difference   float64       `json:"difference_seconds"`
	DifferenceLo *float64      `json:"difference_lo"` // for all classes together at 95%; null with too few rounds
	DifferenceHi *float64      `json:"difference_hi"`
	Different    bool          `json:"different"`
}

// A SiteDiff is what a function causes of memory work, in CPU-seconds a run. One that
// is not among the ten that cause most of it in a run counts for 0 there.
type SiteDiff struct {
	Func    string   `json:"func" redact:"keep"`
	Base    *float64 `json:"base_seconds"` // null: never among the ten
	Seconds *float64 `json:"seconds"`
	// Difference is the least that it can be: where one side is null, against the most
	// that it can have there.
	Difference float64 `json:"difference_seconds"`
	// Different says that the difference exceeds three standard errors of sampling, in
	// three rounds or more.
	Different bool `json:"different"`
}

// compareProfiles compares where the time goes; nil where too little was sampled, or had
// names.
func compareProfiles(base, arm *trial.Arm) *Profile {
	x, y := sampledPairs(base, arm)
	a, b := profile.Mean(x), profile.Mean(y)
	if !a.Shares() || !b.Shares() {
		return nil
	}
	p := &Profile{N: len(x), BaseSamples: a.Samples, Samples: b.Samples, Classes: []ClassDiff{}, Sites: []SiteDiff{}}
	p.classes(x, y)
	p.sites(x, y, a, b)
	return p
}

// sampledPairs returns the profiles of the rounds in which both arms have one.
func sampledPairs(base, arm *trial.Arm) (x, y []*profile.Result) {
	at := make(map[int]*profile.Result)
	for _, s := range base.Samples {
		if s.OK() && s.Profile != nil {
			at[s.Round] = s.Profile
		}
	}
	for _, s := range arm.Samples {
		if w := at[s.Round]; w != nil && s.OK() && s.Profile != nil {
			x, y = append(x, w), append(y, s.Profile)
		}
	}
	return x, y
}

func secondsOf(r *profile.Result, class profile.Class) float64 {
	for _, c := range r.Classes {
		if c.Class == class {
			return c.Seconds
		}
	}
	return 0
}

func (p *Profile) classes(x, y []*profile.Result) {
	var all []stat.Differences
	var tests []float64
	for _, info := range profile.Classes {
		var a, b []float64
		total := 0.0
		for i := range x {
			a, b = append(a, secondsOf(x[i], info.Class)), append(b, secondsOf(y[i], info.Class))
			total += a[i] + b[i]
		}
		if total == 0 {
			continue
		}
		d := stat.PairDifferences(a, b)
		all, tests = append(all, d), append(tests, d.P)
		p.Classes = append(p.Classes, ClassDiff{Class: info.Class, Base: mean(a), Seconds: mean(b), Difference: d.Shift})
	}
	levels := stat.Holm(tests, stat.Alpha, func(i int, l float64) bool { return all[i].Differs(l) })
	for i, d := range all {
		c := &p.Classes[i]
		c.Different = d.Differs(levels[i])
		if lo, hi, ok := d.Interval(levels[i]); ok {
			c.DifferenceLo, c.DifferenceHi = &lo, &hi
		}
	}
}

func mean(v []float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += x
	}
	return sum / float64(len(v))
}

// sites compares functions: lines move from one version of a program to the next.
func (p *Profile) sites(base, arm []*profile.Result, a, b *profile.Result) {
	x, mostX := byFunc(base)
	y, mostY := byFunc(arm)
	for name, sx := range x {
		d := SiteDiff{Func: name, Base: &sx}
		sy, both := y[name]
		if both {
			d.Seconds = &sy
		} else {
			sy = min(mostY, sx)
		}
		p.site(d, sx, sy, a, b)
	}
	for name, sy := range y {
		if _, both := x[name]; !both {
			p.site(SiteDiff{Func: name, Seconds: &sy}, min(mostX, sy), sy, a, b)
		}
	}
	slices.SortFunc(p.Sites, func(s, t SiteDiff) int {
		return cmp.Or(cmp.Compare(math.Abs(t.Difference), math.Abs(s.Difference)), cmp.Compare(s.Func, t.Func))
	})
}

// fewestRounds is of how many sampled rounds a difference between functions is shown:
// one run differs from the next by more than sampling.
const fewestRounds = 3

// site adds a function. A sample stands for as many seconds on either side, so counts
// of samples tell by how much sampling alone lets them differ.
func (p *Profile) site(d SiteDiff, x, y float64, a, b *profile.Result) {
	d.Difference = y - x
	perX, perY := perSample(a), perSample(b)
	d.Different = p.N >= fewestRounds && math.Abs(d.Difference) > 3*math.Sqrt(x*perX+y*perY)
	p.Sites = append(p.Sites, d)
}

// perSample is the time that a sample stands for in a mean: the variance of a mean is as
// many times the mean.
func perSample(r *profile.Result) float64 { return r.CPU() / float64(r.Samples) }

// listed is how many sites a profile has at most.
const listed = 10

// byFunc returns the seconds a run that functions cause, and what one that is in no list
// can cause at most.
func byFunc(runs []*profile.Result) (seconds map[string]float64, most float64) {
	seconds = make(map[string]float64)
	n := float64(len(runs))
	for _, r := range runs {
		least := math.Inf(1)
		for _, s := range r.Sites {
			seconds[s.Name()] += s.Seconds / n
			least = min(least, s.Seconds)
		}
		if len(r.Sites) >= listed {
			most += least / n
		}
	}
	return seconds, most
}
