package report

import (
	"math"
	"strconv"
	"strings"

	"golang.org/x/perf/benchunit"

	"github.com/foliomem/folio/internal/count"
	"github.com/foliomem/folio/internal/metric"
	"github.com/foliomem/folio/internal/stat"
)

// none stands in tables for what was not measured.
const none = "-"

// Seconds prints a time, such as 1.213s or 41.20ms.
func Seconds(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	if v == 0 {
		return "0s"
	}
	return benchunit.Scale(v, benchunit.Decimal) + "s"
}

// Bytes prints a size, such as 48.2MiB.
func Bytes(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	if v == 0 {
		return "0B"
	}
	return benchunit.Scale(v, benchunit.Binary) + "B"
}

// Count prints a whole number with thousands apart, such as 76,886.
func Count(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	return count.Number(int64(math.Round(v)))
}

// Percent prints a fraction of one, such as 14.2%.
func Percent(v float64) string {
	if math.IsNaN(v) {
		return none
	}
	return strconv.FormatFloat(100*v, 'f', 1, 64) + "%"
}

// Metric prints a value of what is optimised.
func Metric(spec *metric.Spec, v float64) string {
	switch {
	case math.IsNaN(v):
		return none
	case spec.Name == metric.Bench:
		return Seconds(v / 1e9)
	case spec.Pattern == nil:
		return Seconds(v)
	}
	return benchunit.Scale(v, benchunit.Decimal)
}

// Spread prints how well a median is known: "± 3%", or "" without an interval.
func Spread(s stat.Summary) string {
	r, ok := s.Spread()
	if !ok {
		return ""
	}
	return "± " + strconv.FormatFloat(math.Ceil(100*r), 'f', 0, 64) + "%"
}

// marks adds warnings to the notes and returns their numbers as they stand behind
// a figure: ¹ or ¹˒².
func marks(n *stat.Notes, warnings []error) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var out []string
	for _, w := range warnings {
		mark := ""
		for _, d := range strconv.Itoa(n.Add(w.Error())) {
			mark += string(digits[d-'0'])
		}
		out = append(out, mark)
	}
	return strings.Join(out, "˒")
}

// spreadOrNote returns the spread, or the numbers of the notes that say why
// there is none.
func spreadOrNote(n *stat.Notes, s stat.Summary) string {
	if text := Spread(s); text != "" || s.N == 0 {
		return text
	}
	return marks(n, s.Warnings)
}
