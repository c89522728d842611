package report

import (
	"cmp"
	"slices"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A Tune is what folio tune shows of a result file.
type Tune struct {
	File  *result.File
	Notes *stat.Notes
	// Width is how many columns table and plot may take; 0 when that is not known.
	Width int
	// All lists the settings that are not in the final, too.
	All bool
}

// ranked returns the arms as the table lists them: the default, the others of the
// final, best first, and the rest.
func ranked(f *result.File) []*result.Arm {
	var out []*result.Arm
	for i := range f.Arms {
		out = append(out, &f.Arms[i])
	}
	if len(out) == 0 {
		return nil
	}
	rank := func(a *result.Arm) int {
		if a.Final == nil {
			return len(out) + 1
		}
		return a.Final.Rank
	}
	slices.SortStableFunc(out[1:], func(a, b *result.Arm) int { return cmp.Compare(rank(a), rank(b)) })
	return out
}

// compared says whether there was a final that compared something.
func compared(f *result.File) bool { return len(f.Arms) > 0 && f.Arms[0].Final != nil }

// Growing explains the mark of [Peak].
const Growing = "+ still growing when the load ended"

// AnyGrowing says whether the peak of some setting has that mark.
func AnyGrowing(f *result.File) bool {
	return slices.ContainsFunc(f.Arms, func(a result.Arm) bool { return a.Growing() })
}

// Peak prints the peak memory of a setting in a table.
func Peak(a *result.Arm, bytes float64) string {
	if a.Growing() {
		return unit.Bytes(bytes) + "+"
	}
	return unit.Bytes(bytes)
}

// Mark says how a setting stands to the recommended one: ">" it is recommended, "=" it
// cannot be told apart from that and looks the same, "?" it looks better or worse, with too
// few runs to know.
func Mark(f *result.File, a *result.Arm) string {
	switch {
	case a.Final == nil || len(f.Recommendations) == 0:
		return ""
	case a.Name == f.Recommendations[0].Arm:
		if a == &f.Arms[0] && f.Answer != nil && f.Answer.State == result.AnswerInconclusive {
			return "" // nothing is recommended yet
		}
		return ">"
	case a.Final.Tied:
		return "="
	case a.Final.Undecided:
		return "?"
	}
	return ""
}
