package suggest

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// A Cost is what a run cost, in seconds. Fields that are NaN are not known.
type Cost struct {
	Wall       float64
	CPU        float64
	GC         float64 // CPU time of the GC
	Allocation float64 // CPU time of allocating and zeroing, by sampling
}

// Unknown is the cost of a run that nobody measured.
func Unknown() Cost { return Cost{math.NaN(), math.NaN(), math.NaN(), math.NaN()} }

// A Suggestion is a call site that would gain from an arena.
type Suggestion struct {
	Site
	Share   float64 // of all bytes that were allocated
	Objects float64 // share of all objects
	Kept    float64 // the part of its bytes that was in use at the end
	Life    float64 // seconds that a byte lived on average; NaN if not known
	// GC is the part of the CPU time that the GC takes because of
	// this site. Low and High are what an arena would save of the CPU time.
	// NaN if the cost of the GC is not known.
	GC, Low, High float64
	// Samples is about how many samples of the profile are the site's: the shares
	// are off by one in the root of it.
	Samples float64
	Source  string // the line, if it could be read
	Sketch  string // what to write instead
}

// An Other is a call site that allocates much, and for which an arena is not the
// answer.
type Other struct {
	Site
	Share float64
	Why   string
}

// Advice is what to do, the best first.
type Advice struct {
	Cost        Cost
	Total       Site
	Suggestions []Suggestion
	Others      []Other
	Nothing     string // why there are no suggestions
	Tree        *profile.Tree
}

const (
	littleGain = 0.01 // of the CPU time
	littlePart = 0.03 // of the bytes, where the gain is not known
	keptLong   = 0.10 // the part in use from which on a site's memory is not garbage
	most       = 8    // suggestions, and others
)

// Suggest judges the call sites of a profile. lines reads a line of a source file, ""
// if it cannot; nil means that none can.
func Suggest(p *Profile, c Cost, lines func(file string, line int64) string) *Advice {
	if lines == nil {
		lines = func(string, int64) string { return "" }
	}
	a := &Advice{Cost: c, Total: p.Total, Tree: p.Tree}
	total := float64(p.Total.AllocBytes)
	if total == 0 {
		a.Nothing = "the profile has no allocations"
		return a
	}
	known := !math.IsNaN(c.GC) && c.CPU > 0
	part := math.NaN()
	if known {
		part = c.GC / c.CPU
		if !math.IsNaN(c.Allocation) {
			part += c.Allocation / c.CPU
		}
	}
	for _, s := range p.Sites {
		sg := judge(s, p, c, known)
		little := known && sg.High < littleGain || sg.Share < littlePart && !known
		if little {
			continue
		}
		sg.Source = lines(s.File, s.Line)
		why := ""
		sg.Sketch, why = sketch(sg.Source)
		switch {
		case s.Inside != "":
			why = "allocated inside " + s.Inside + ", which knows no arena: reuse its result or buffer instead"
		case sg.Kept > keptLong:
			why = "much of it stays in use, so it is not garbage that an arena would spare the GC"
		}
		if why != "" {
			if len(a.Others) < most {
				a.Others = append(a.Others, Other{s, sg.Share, why})
			}
			continue
		}
		if len(a.Suggestions) < most {
			a.Suggestions = append(a.Suggestions, sg)
		}
	}
	switch {
	case len(a.Suggestions) > 0:
	case known && part < 2*littleGain:
		a.Nothing = "GC and allocation take less than 2% of CPU time"
	case len(a.Others) > 0:
		a.Nothing = "what allocates much is not for an arena"
	default:
		a.Nothing = "no call site allocates enough to be worth a change"
	}
	return a
}

// judge computes what an arena would do for a site.
//
// The GC runs once for a certain number of bytes that are allocated, and
// what a run of it costs depends on what is live. So a site that allocates a part of the
// bytes causes that part of the GC's time, and an arena, whose slabs are
// reused, spares it, and most of the time of allocating. Low is half of the
// GC's part: slabs that are held count as live memory, and not all of
// an arena's lives end together. High adds nine tenths of allocation's part.
func judge(s Site, p *Profile, c Cost, known bool) Suggestion {
	sg := Suggestion{Site: s, Life: math.NaN(), GC: math.NaN(), Low: math.NaN(), High: math.NaN(), Samples: math.NaN()}
	sg.Share = ratio(s.AllocBytes, p.Total.AllocBytes)
	sg.Objects = ratio(s.AllocObjects, p.Total.AllocObjects)
	sg.Kept = ratio(s.InuseBytes, s.AllocBytes)
	if c.Wall > 0 && s.AllocBytes > 0 {
		sg.Life = sg.Kept * c.Wall // Little's law
	}
	if p.Rate > 0 && s.AllocObjects > 0 {
		size := float64(s.AllocBytes) / float64(s.AllocObjects)
		sg.Samples = float64(s.AllocObjects) * -math.Expm1(-size/float64(p.Rate))
	}
	if known {
		sg.GC = c.GC / c.CPU * sg.Share
		sg.Low, sg.High = sg.GC/2, sg.GC
		if !math.IsNaN(c.Allocation) {
			sg.High += 0.9 * c.Allocation / c.CPU * sg.Objects
		}
	}
	return sg
}

func ratio(a, b int64) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}
