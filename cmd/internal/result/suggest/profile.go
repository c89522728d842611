package suggest

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/program/callsite"
	trialprofile "github.com/foliomem/folio/cmd/internal/trial/profile"
)

// A Site is a line of the program that allocates.
type Site struct {
	Func string
	File string
	Line int64
	// Inside is the function of the standard library that the line called and that
	// allocated; "" if the line allocates by itself.
	Inside string

	AllocBytes, AllocObjects int64 // in all
	InuseBytes, InuseObjects int64 // reachable at the last GC cycle before the profile
}

// Place returns the file's name and line.
func (s *Site) Place() string {
	return fmt.Sprintf("%s:%d", s.File[strings.LastIndexByte(s.File, '/')+1:], s.Line)
}

// A Profile is the allocations of a program by call site, the most bytes first.
type Profile struct {
	Sites []Site
	Total Site  // of all
	Rate  int64 // about one sample for so many bytes; 0 if it is not known
	// Tree is the bytes by call path, of classes [Freed] and [InUse]; nil for none.
	Tree *trialprofile.Tree
}

// columns are the sample types of an allocation profile.
var columns = [...]string{"alloc_objects", "alloc_space", "inuse_objects", "inuse_space"}

// ErrNotAllocations is wrapped by the error for a profile of something else.
var ErrNotAllocations = errors.New("not an allocation profile; " + howToWrite)

const howToWrite = `write one with go test -memprofile FILE, or pprof.Lookup("allocs")`

// Read reads a profile in pprof's format.
func Read(r io.Reader) (*Profile, error) {
	p, err := callsite.Parse(r)
	if err != nil {
		if errors.Is(err, callsite.ErrNotProfile) {
			err = fmt.Errorf("%w; %s", err, howToWrite)
		}
		return nil, err
	}
	var at [len(columns)]int
	for i, c := range columns {
		at[i] = slices.IndexFunc(p.SampleType, func(v *profile.ValueType) bool { return v.Type == c })
		if at[i] < 0 {
			return nil, fmt.Errorf("no values of type %s: %w", c, ErrNotAllocations)
		}
	}
	out := &Profile{}
	if p.PeriodType != nil && p.PeriodType.Type == "space" && p.Period > 0 {
		out.Rate = p.Period
	}
	type key struct {
		name, file, inside string
		line               int64
	}
	sites := map[key]*Site{}
	stacks := trialprofile.NewStacks()
	for _, s := range p.Sample {
		frame, inside, _, ok := callsite.Caller(callsite.Stack(s))
		if !ok {
			continue
		}
		paths(stacks, s, s.Value[at[1]], s.Value[at[3]])
		k := key{frame.Func, frame.File, inside, int64(frame.Line)}
		site := sites[k]
		if site == nil {
			site = &Site{Func: k.name, File: k.file, Line: k.line, Inside: inside}
			sites[k] = site
		}
		for _, to := range []*Site{site, &out.Total} {
			to.AllocObjects += max(s.Value[at[0]], 0)
			to.AllocBytes += max(s.Value[at[1]], 0)
			to.InuseObjects += max(s.Value[at[2]], 0)
			to.InuseBytes += max(s.Value[at[3]], 0)
		}
	}
	if out.Tree = stacks.Tree(); out.Tree != nil {
		out.Tree.Unit = trialprofile.UnitBytes
	}
	for _, s := range sites {
		out.Sites = append(out.Sites, *s)
	}
	slices.SortFunc(out.Sites, func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.AllocBytes, a.AllocBytes), strings.Compare(a.File, b.File),
			cmp.Compare(a.Line, b.Line), strings.Compare(a.Inside, b.Inside), strings.Compare(a.Func, b.Func))
	})
	return out, nil
}
