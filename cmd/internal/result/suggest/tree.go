package suggest

import (
	"slices"

	pprof "github.com/google/pprof/profile"

	"github.com/foliomem/folio/cmd/internal/trial/profile"
)

// Classes of allocated bytes in [Profile.Tree].
const (
	Freed profile.Class = "freed"  // garbage by the end
	InUse profile.Class = "in_use" // reachable at the last GC cycle before the profile
)

// paths adds a sample by its call path.
func paths(to *profile.Stacks, s *pprof.Sample, allocated, inUse int64) {
	var path []profile.Frame
	for _, loc := range s.Location {
		for _, l := range loc.Line {
			f := profile.Frame{Function: profile.Function{Name: "[unknown]"}, Line: int(max(l.Line, 0))}
			if l.Function != nil && l.Function.Name != "" {
				f.Function = profile.Function{Name: l.Function.Name, File: l.Function.Filename}
			}
			path = append(path, f)
		}
	}
	slices.Reverse(path)
	inUse = min(max(inUse, 0), max(allocated, 0))
	if inUse > 0 {
		to.Add(path, InUse, float64(inUse))
	}
	if freed := allocated - inUse; freed > 0 {
		to.Add(path, Freed, float64(freed))
	}
}
