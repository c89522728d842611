package report

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Delays says in a sentence what delays the slow requests of an arm; "" where nothing is
// known.
func Delays(a *result.Arm) string {
	d := a.Delays
	if d == nil || a.Load == nil || a.Load.Runs == 0 {
		return ""
	}
	p99 := "p99 failed"
	if v := a.Load.P99.Value; v != nil {
		p99 = "p99 of " + unit.Seconds(*v)
	}
	s := d.Of(d.Cause)
	if s == nil && (d.State == result.DelayFound || d.State == result.DelayUnclear) {
		return "" // the file is not ours
	}
	switch d.State {
	case result.DelayFound:
		text := fmt.Sprintf("%s: %s of the slow requests overlap %s (%s of all requests do; %s of the slow ones would by chance).",
			p99, unit.Percent(s.Slow), s.Cause.Text(), unit.Percent(s.All), unit.Percent(s.Chance))
		for _, c := range d.Causes {
			if c.Found && c.Cause != s.Cause && !(c.Cause.OfGC() && s.Cause.OfGC()) {
				text += fmt.Sprintf(" %s also overlap %s (%s of all requests).", unit.Percent(c.Slow), c.Cause.Text(), unit.Percent(c.All))
			}
		}
		return text
	case result.DelayUnclear:
		return fmt.Sprintf("%s: its cause is unclear: %s of the slow requests overlap %s, and %s would by chance.",
			p99, unit.Percent(s.Slow), s.Cause.Text(), unit.Percent(s.Chance))
	case result.DelayTooFew:
		return fmt.Sprintf("%s: too few slow requests to tell a cause: %s, in %s.", p99, unit.Number(int64(d.Slow)), unit.Plural(d.Episodes, "group"))
	}
	if gc := d.Of(result.DelayGCCycle); gc != nil {
		return fmt.Sprintf("%s: no cause found: %s of the slow requests overlap a GC cycle, and %s would by chance.%s",
			p99, unit.Percent(gc.Slow), unit.Percent(gc.Chance), besideGC(d, " The same holds of "))
	}
	return fmt.Sprintf("%s: its cause is not known, GC cycles neither.%s", p99, besideGC(d, " The slow requests are as likely as others to overlap "))
}

// besideGC lists the causes beside the GC that were looked at.
func besideGC(d *result.Delays, before string) string {
	var names []string
	for _, c := range d.Causes {
		if !c.Cause.OfGC() {
			names = append(names, c.Cause.Text())
		}
	}
	if len(names) == 0 {
		return ""
	}
	return before + unit.Enumerate(names) + "."
}

// delaysAnswer says it of the default of a search, and what the recommended setting changes:
// where p99 is what was optimized, as the answer has it.
func delaysAnswer(f *result.File, arm *result.Arm) string {
	def := &f.Arms[0]
	text := Delays(def)
	if text == "" || arm == nil || arm == def || arm.Load == nil || arm.Load.Runs == 0 {
		return text
	}
	p99 := arm.Load.P99.Value
	if p99 != nil && arm.Final != nil && f.Metric.OfLoad() && f.Metric.Name == result.MetricP99 {
		p99 = &arm.Final.Adjusted
	}
	if p99 == nil {
		return "Default: " + text + fmt.Sprintf(" With %s p99 failed.", arm.Name)
	}
	return "Default: " + text + fmt.Sprintf(" With %s p99 is %s.", arm.Name, unit.Seconds(*p99))
}

// Excess prints what a share has beyond chance, with its interval.
func Excess(s result.DelayShare) string {
	text := unit.Percent(s.Excess)
	if s.Lo != nil && s.Hi != nil {
		text += fmt.Sprintf(" [%s, %s]", unit.Percent(*s.Lo), unit.Percent(*s.Hi))
	}
	return text
}
