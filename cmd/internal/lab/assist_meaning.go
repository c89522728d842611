package lab

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/unit"
)

// assistMemory is how much of stock's peak heap a bounded setting may take.
const assistMemory = 1.1

// assistMeaning says what stock's assists are, and what becomes of latency and memory
// without.
func assistMeaning(o *Outcome) []string {
	base := o.Arm(o.Experiment.Base)
	if o.at(base, o.Params.Size, heapKey) == 0 {
		return nil
	}
	var out []string
	if n, of := o.late(); n > 0 {
		out = append(out, fmt.Sprintf("The load was sent late in %d of %d runs: their latencies are left out. Leave the machine alone meanwhile.", n, of))
	}
	if len(base.Values(o.Params.Size, p99Key)) == 0 {
		return append(out, "Nothing is known of stock's latency.")
	}
	out = append(out, fmt.Sprintf("Stock: p99 %s, p99.9 %s, %s of requests over %s; goroutines assist for %s of %s of CPU time.",
		o.seconds(base, p99Key), o.seconds(base, p999Key), unit.Percent(o.at(base, o.Params.Size, "missed_fraction")),
		unit.Span(assistTarget), o.seconds(base, "assist_seconds"), o.seconds(base, "cpu_seconds")))
	for _, a := range o.Arms {
		if a != base {
			out = append(out, o.withoutAssists(base, a))
		}
	}
	return trimEmpty(out)
}

// late returns in how many runs the load was sent late, and of how many.
func (o *Outcome) late() (n, of int) {
	for _, a := range o.Arms {
		all := len(a.Values(o.Params.Size, heapKey))
		n += all - len(a.Values(o.Params.Size, p99Key))
		of += all
	}
	return n, of
}

// withoutAssists says what an arm's latency and heap are, where stock's are others.
func (o *Outcome) withoutAssists(base, a *ArmResult) string {
	memory := o.ratio(a, base, heapKey)
	if memory == 0 {
		return ""
	}
	var parts []string
	for _, f := range []struct{ key, label string }{{p99Key, "p99"}, {p999Key, "p99.9"}} {
		if r := o.ratio(base, a, f.key); r != 0 && o.decided(base, a, f.key, r) {
			parts = append(parts, fmt.Sprintf("%s %s instead of %s", f.label, o.seconds(a, f.key), o.seconds(base, f.key)))
		}
	}
	if len(parts) == 0 {
		parts = append(parts, "no other latency beyond doubt")
	}
	text := fmt.Sprintf("%s: %s; peak heap %s of stock's", a.Arm.Name, strings.Join(parts, ", "), unit.Ratio(memory))
	lo, hi, ok := stat.ComparePairs(base.Values(o.Params.Size, heapKey), a.Values(o.Params.Size, heapKey)).Interval(stat.Alpha)
	switch limit := unit.Ratio(assistMemory); {
	case !ok:
		text += ", in too few rounds to tell it from " + limit
	case lo > assistMemory:
		text += ", more than " + limit
	case hi <= assistMemory:
		text += ", within " + limit
	default:
		text += fmt.Sprintf(", between %s and %s: it is not known to be within %s", unit.Ratio(lo), unit.Ratio(hi), limit)
	}
	return text + "."
}
