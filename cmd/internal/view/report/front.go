package report

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/result"
)

// Place returns where an arm stands in a picture of metric and memory: adjusted for
// drift, of one that was dropped early approximately. ok is false where that is not known.
func Place(a *result.Arm) (x, y float64, ok bool) {
	switch {
	case a.Status == string(result.StatusFailed):
	case a.Final != nil && a.Final.Memory != nil:
		x, y = *a.Final.Memory, a.Final.Adjusted
	case a.Left != nil:
		x, y = a.PeakMemory().Median, a.Left.About
	}
	return x, y, x > 0 && y > 0 && !math.IsInf(x, 0) && !math.IsInf(y, 0)
}
