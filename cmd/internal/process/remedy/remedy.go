package remedy

import (
	"cmp"
	"slices"

	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/base/advice"
)

// Facts are what the rules look at. What is not known is empty or nil.
type Facts struct {
	Waterfall *waterfall.Waterfall
	GoVersion string
	PID       int
	// Fit is how the program fits into its container; nil without a memory limit in effect.
	Fit *memlimit.Fit
	// THP is what the system does about huge pages.
	THP advice.Facts
	// ArenaMax is MALLOC_ARENA_MAX of the environment that the process began with.
	ArenaMax string
	// Stripped says that the program has no table of symbols, by which its variables have
	// names.
	Stripped bool
	// Sites are call sites that keep memory of the live heap, and Creators those that began
	// goroutines, with the bytes that these keep, largest first; nil: nobody has looked.
	Sites, Creators []Site
	// NoCreators says why Creators could not be read; nil where nobody has tried.
	NoCreators error
	// NoSites says why Sites could not be read; nil where nobody has tried.
	NoSites error
}

// A Site is a line of the program, and what it keeps.
type Site struct {
	Name  string // function, file and line
	Count uint64 // objects or goroutines
	Bytes uint64
}

// A Share is memory of one part.
type Share struct {
	Part  waterfall.Kind
	Bytes uint64
}

// A Remedy is what makes parts of the memory smaller.
type Remedy struct {
	Rule  string // its ID, which does not change
	Title string // the action in a few words; of what is in use: what it is
	Of    []Share
	// Most is the sum of Of: no more than this can come back. Beyond is what of it no
	// remedy before this one can return.
	Most, Beyond uint64

	What    string // a sentence
	Means   string // what it costs, and what else there is to know
	Do      string // a sentence
	Code    string // the command, the variable or the line of code
	Subject string // the site, or the mapping, that it is about; "" for none
	See     string // the source

	// Waste says that nobody uses this memory, so that it is a finding of folio doctor.
	Waste bool
	// InUse says that this memory is in use, as far as is known: only the program can drop it.
	InUse bool
}

// Remedies are those of one process: those of what can be reclaimed, then those of what is
// in use, each the largest first.
type Remedies struct {
	List []Remedy
	// Together is the most that all can return but those of what is in use.
	Together uint64
}

// Worth is the least that a remedy must return for it to be said, of so much RSS.
func Worth(rss uint64) uint64 { return max(8<<20, rss/20) }

// A rule finds remedies. What it claims of a part is cut to what the part has.
type rule struct {
	id   string
	of   use
	look func(*Facts) []Remedy
}

// use is what is known of the use of the memory that a rule is about.
type use int

const (
	some  use = iota // it can be made smaller
	waste            // nobody uses it
	inUse            // only the program can drop it
)

// Find returns what the rules find.
func Find(f *Facts) Remedies {
	var out Remedies
	if f.Waterfall == nil {
		return out
	}
	worth := Worth(f.Waterfall.RSS)
	for _, r := range rules {
		for _, m := range r.look(f) {
			m.Rule, m.Waste, m.InUse = r.id, r.of == waste, r.of == inUse
			m.Of = f.within(m.Of)
			for _, s := range m.Of {
				m.Most += s.Bytes
			}
			if m.Most >= worth {
				out.List = append(out.List, m)
			}
		}
	}
	slices.SortStableFunc(out.List, func(a, b Remedy) int {
		switch {
		case a.InUse == b.InUse:
			return cmp.Compare(b.Most, a.Most)
		case a.InUse:
			return 1
		}
		return -1
	})
	taken := make(map[waterfall.Kind]uint64)
	for i := range out.List {
		m := &out.List[i]
		for _, s := range m.Of {
			n := min(s.Bytes, f.part(s.Part)-taken[s.Part])
			taken[s.Part] += n
			m.Beyond += n
		}
		if !m.InUse {
			out.Together += m.Beyond
		}
	}
	return out
}

// within cuts claims to what there is, and adds up those of the same part.
func (f *Facts) within(claims []Share) (out []Share) {
	for _, c := range claims {
		i := slices.IndexFunc(out, func(s Share) bool { return s.Part == c.Part })
		if i < 0 {
			out = append(out, Share{Part: c.Part})
			i = len(out) - 1
		}
		out[i].Bytes += min(c.Bytes, f.part(c.Part)-out[i].Bytes)
	}
	return slices.DeleteFunc(out, func(s Share) bool { return s.Bytes == 0 })
}

// part is what a part has in memory.
func (f *Facts) part(k waterfall.Kind) uint64 { return uint64(max(f.Waterfall.Part(k).Bytes, 0)) }

// held is what the runtime has of a part by its own count, in memory or not.
func (f *Facts) held(k waterfall.Kind) uint64 {
	if p := f.Waterfall.Part(k); p.Runtime != nil {
		return *p.Runtime
	}
	return f.part(k)
}

// over is by how much a is more than b.
func over(a, b uint64) uint64 { return a - min(a, b) }

// Wasted says that a remedy returns so much memory that nobody uses that it is a finding
// of folio doctor, of so much RSS. Garbage is not counted: any heap has some.
func (m *Remedy) Wasted(rss uint64) bool {
	var idle uint64
	for _, s := range m.Of {
		if s.Part != waterfall.Since {
			idle += s.Bytes
		}
	}
	return m.Waste && idle >= max(64<<20, rss/10)
}
