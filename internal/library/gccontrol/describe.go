package gccontrol

import (
	"fmt"
	"strconv"

	"github.com/foliomem/folio/internal/base/unit"
)

// Describe returns a decision in one line; was is the GOGC before it.
func Describe(s *Sample, d *Decision, was int) string {
	gogc := gogcText(d.GOGC)
	if was != 0 && was != d.GOGC {
		gogc = gogcText(was) + " -> " + gogc
	}
	head := fmt.Sprintf("%s: GOGC %s, live heap %s", d.State, gogc, unit.Bytes(float64(s.Live)))
	if d.GOGC >= 0 && d.State != Inactive && d.State != Emergency { // in an emergency the memory limit decides
		head += ", may grow to " + unit.Bytes(float64(d.Goal))
	}
	costs := fmt.Sprintf("GC takes %s of CPU time", unit.Percent(d.Cost))
	if d.GOGC != base {
		costs += fmt.Sprintf(" (%s at GOGC=100)", unit.Percent(d.CostAtBase))
	}
	switch d.Reason {
	case NothingKnown:
		return head + ": no GC cycle yet"
	case Costly:
		return head + ": " + costs
	case Cheap:
		return head + ": " + costs + ", nothing to gain"
	case Frequent:
		return head + ": GC cycles would be too frequent; " + costs
	case UserGOGC:
		return head + ": GOGC set by the user: left alone; " + costs
	case BudgetUnmet:
		what := "a peak"
		if d.Growth > 0 {
			what = "a leak? it grows by " + unit.Bytes(d.Growth) + "/s"
		}
		return fmt.Sprintf("%s: exceeds the budget of %s by %s (%s); %s",
			head, unit.Bytes(float64(d.Budget)), unit.Bytes(float64(d.Short)), what, costs)
	}
	return head + ": " + d.Reason.String() + "; " + costs
}

func gogcText(v int) string {
	if v < 0 {
		return "off"
	}
	return strconv.Itoa(v)
}

// LimitText is a memory limit as a person writes it.
func LimitText(v int64) string {
	if v >= 1<<62 {
		return "none"
	}
	return unit.Bytes(float64(v))
}
