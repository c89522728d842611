package lab

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
)

// mallocMeaning says, of each patch, in how many of the benchmarks it differs from
// stock, and by how much in the mean.
func mallocMeaning(o *Outcome) (out []string) {
	base := o.Arm(o.Experiment.Base)
	for _, a := range o.Arms {
		if a == base {
			continue
		}
		var ratios []float64
		var less, more []string
		n := 0
		for _, f := range o.Experiment.Figures {
			c := stat.Compare(base.Values(o.Params.Size, f.Key), a.Values(o.Params.Size, f.Key))
			if c.N1 == 0 || c.N2 == 0 {
				continue
			}
			n = min(c.N1, c.N2)
			ratios = append(ratios, c.Ratio)
			switch {
			case c.Different && c.Ratio < 1:
				less = append(less, f.Label)
			case c.Different:
				more = append(more, f.Label)
			}
		}
		if len(ratios) == 0 {
			continue
		}
		text := fmt.Sprintf("%s: %+.1f%% time in the geometric mean of %s", a.Arm.Name, 100*(stat.GeoMean(ratios)-1),
			unit.Plural(len(ratios), "benchmark"))
		switch {
		case len(less)+len(more) > 0:
			text += fmt.Sprintf("; %d take less time%s, %d more%s; one in %.0f would by chance alone, and more where the machine is slow for a while", len(less), names(less), len(more), names(more), 1/stat.Alpha)
		case n < enoughRounds:
			text += "; in so few rounds none differs beyond doubt"
		default:
			text += "; none differs beyond doubt"
		}
		if why := idle(a.Arm.Name); why != "" {
			text += ". That is the noise: the patch " + why
		}
		out = append(out, text+".")
	}
	if len(out) == 0 && base.Ran() {
		return []string{"Nothing could be built to compare stock with."}
	}
	return out
}

// names lists a few names in brackets.
func names(list []string) string {
	const few = 4
	switch {
	case len(list) == 0:
		return ""
	case len(list) > few:
		return " (" + strings.Join(list[:few], ", ") + "...)"
	}
	return " (" + strings.Join(list, ", ") + ")"
}
