package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// none stands in tables for what was not measured.
const none = unit.None

// Metric prints a value of what is optimised.
func Metric(spec *result.Metric, v float64) string {
	switch {
	case math.IsNaN(v):
		return none
	case spec.Name == result.MetricBench:
		return unit.Seconds(v / 1e9)
	case spec.Pattern == nil:
		return unit.Seconds(v)
	}
	return unit.Scaled(v)
}

// marks adds warnings to the notes and returns their numbers as they stand behind
// a figure: ¹ or ¹˒².
func marks(n *stat.Notes, warnings []string) string {
	digits := []rune("⁰¹²³⁴⁵⁶⁷⁸⁹")
	var out []string
	for _, w := range warnings {
		mark := ""
		for _, d := range strconv.Itoa(n.Add(w)) {
			mark += string(digits[d-'0'])
		}
		out = append(out, mark)
	}
	return strings.Join(out, "˒")
}

// spreadOrNote returns the spread, or the numbers of the notes that say why
// there is none.
func spreadOrNote(n *stat.Notes, i result.Interval) string {
	if text := i.Summary().SpreadText(); text != "" || i.N == 0 {
		return text
	}
	return marks(n, i.Warnings)
}
