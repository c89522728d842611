package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// removed lists the classes whose time a setting changed most, at most n.
func removed(base, with *result.Profile, n int) string {
	if !base.Shares() || !with.Shares() || min(base.Samples, with.Samples) < result.EnoughSamples {
		return ""
	}
	type change struct {
		class    result.ClassInfo
		from, to float64
	}
	total := 0.0
	for _, c := range base.Classes {
		total += c.Seconds
	}
	var all []change
	for _, c := range result.Classes {
		ch := change{c, base.Share(c.Class).Seconds, with.Share(c.Class).Seconds}
		if math.Abs(ch.to-ch.from) >= littleChange*total {
			all = append(all, ch)
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Compare(a.to-a.from, b.to-b.from) })
	var out []string
	for _, c := range all[:min(n, len(all))] {
		out = append(out, fmt.Sprintf("%s %s -> %s", c.class.Title, unit.Seconds(c.from), unit.Seconds(c.to)))
	}
	return strings.Join(out, ", ")
}

// littleChange is the part of the CPU time below which a change of a class
// is not worth a word.
const littleChange = 0.01
