package report

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Arrivals says when requests were sent.
func Arrivals(s result.LoadSettings) string {
	out := fmt.Sprintf("%s requests/s for %s, %s arrivals", rateText(s.Rate), unit.SpanSeconds(s.Duration), s.Arrivals)
	if s.Seed != nil {
		out += fmt.Sprintf(" (seed %d)", *s.Seed)
	}
	if s.Warmup > 0 {
		out += ", after " + unit.SpanSeconds(s.Warmup) + " of warm-up"
	}
	out += fmt.Sprintf("; timeout %s, at most %s in flight", unit.SpanSeconds(s.Timeout), unit.Number(int64(s.MaxInFlight)))
	if s.Connections != nil {
		out += ", " + unit.Plural(*s.Connections, "connection")
	}
	return out
}

// rateText prints a rate that was chosen, in full.
func rateText(v float64) string {
	if v == float64(int64(v)) {
		return unit.Number(int64(v))
	}
	return fmt.Sprint(v)
}

// Counts says how many requests there were, and failed.
func Counts(c result.LoadCounts) string {
	out := fmt.Sprintf("%s: %s succeeded", unit.Plural(int(c.Intended), "request"), unit.Number(c.Succeeded))
	if c.Failed > 0 {
		out += fmt.Sprintf(", %s failed (%s)", unit.Number(c.Failed), unit.Percent(float64(c.Failed)/float64(c.Intended)))
	}
	return out
}
