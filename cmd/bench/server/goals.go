package main

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/bench/internal/table"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// The goals, for each of auto and the answer of folio tune.
const (
	goalP99  = 0.7
	goalCPU  = 0.85
	goalMost = 3 // of the four services
)

// judged are the arms that goals are for.
var judged = []string{nameAuto, nameTune}

// A measured service is one with the figures of its arms, by name.
type measured struct {
	*Service
	of map[string]figures
}

// goals writes which goals are met.
func goals(t *table.Table, all []measured) {
	for _, arm := range judged {
		reached := func(limit float64, figure func(figures) float64) string {
			n, known := 0, 0
			var missed []string
			for _, s := range all {
				v := math.NaN()
				if f, ok := s.of[arm]; ok {
					v = figure(f)
				}
				switch {
				case math.IsNaN(v):
					continue
				case v <= limit:
					n++
				default:
					missed = append(missed, fmt.Sprintf("%s %.2fx", s.Name, v))
				}
				known++
			}
			return verdict(n >= goalMost, n+len(services)-known < goalMost, fmt.Sprintf("%d of %d measured%s", n, known, above(missed)))
		}
		t.Rowf("%s: p99 at most %vx of the default on %d of %d services | %s", arm, goalP99, goalMost, len(services),
			reached(goalP99, func(f figures) float64 { return f.p99.Median }))
		t.Rowf("%s: CPU per request at most %vx of the default on %d of %d services | %s", arm, goalCPU, goalMost, len(services),
			reached(goalCPU, func(f figures) float64 { return f.perCPU.Median }))
		t.Rowf("%s: no OOM kill where the default has none | %s", arm, kills(all, arm))
	}
	t.Rowf("auto and tune: overlapping intervals of p99 | %s", overlap(all))
}

func above(missed []string) string {
	if missed == nil {
		return ""
	}
	return "; above it: " + strings.Join(missed, ", ")
}

// verdict is yes, **no**, or not known.
func verdict(yes, no bool, why string) string {
	switch {
	case yes:
		return "yes: " + why
	case no:
		return "**no**: " + why
	}
	return "not known: " + why
}

func kills(all []measured, arm string) string {
	var bad []string
	known := 0
	for _, s := range all {
		f, base := s.of[arm], s.of[nameDefault]
		if f.counted == 0 && f.kills == 0 || base.counted == 0 && base.kills == 0 {
			continue
		}
		known++
		if f.kills > 0 && base.kills == 0 {
			bad = append(bad, fmt.Sprintf("%s %d", s.Name, f.kills))
		}
	}
	why := fmt.Sprintf("%d of %d services measured", known, len(services))
	if bad != nil {
		why = strings.Join(bad, ", ")
	}
	return verdict(bad == nil && known == len(services), bad != nil, why)
}

// overlap says whether the p99 of auto and tune can be the same.
func overlap(all []measured) string {
	var apart []string
	known := 0
	for _, s := range all {
		a, b := interval(s.of[nameAuto]), interval(s.of[nameTune])
		if a == nil || b == nil {
			continue
		}
		known++
		if a.Hi < b.Lo || b.Hi < a.Lo {
			apart = append(apart, s.Name)
		}
	}
	why := fmt.Sprintf("%d of %d services have both intervals", known, len(services))
	if apart != nil {
		why = strings.Join(apart, ", ") + " apart"
	}
	return verdict(apart == nil && known == len(services), apart != nil, why)
}

func interval(f figures) *load.Interval {
	if f.merged == nil {
		return nil
	}
	return f.merged.Intervals.P99
}

// untouched is the share of time with GC cycles below which p99 is without them: with a
// backlog as long as the cycles themselves, they touch fewer than 1% of the requests.
const untouched = 0.005

// blame says in a sentence what the GC can have done to the p99 of the default.
func blame(s measured) string {
	base := s.of[nameDefault]
	least := ""
	for _, a := range s.Arms {
		f := s.of[a.Name]
		if f.collecting.N > 0 && p99(f) != nil && (least == "" || f.collecting.Median < s.of[least].collecting.Median) {
			least = a.Name
		}
	}
	if least == "" || p99(base) == nil || base.collecting.N == 0 {
		return s.Name + ": what the GC does to p99 is not known: cycles or latencies of the default are not."
	}
	f := s.of[least]
	share := unit.Percent(f.collecting.Median)
	ran := fmt.Sprintf("%s: GC cycles run for %s of the time with the default", s.Name, unit.Percent(base.collecting.Median))
	if f.collecting.Median >= untouched {
		return fmt.Sprintf("%s, and for at least %s in every arm (least: %s): too much to tell what p99 is without the GC.", ran, share, least)
	}
	if least == nameDefault {
		return fmt.Sprintf("%s, the least of all arms: its p99 of %s is not the GC's doing.", ran, unit.Seconds(*p99(base)))
	}
	part := max(1-*p99(f)/(*p99(base)), 0)
	text := fmt.Sprintf("%s, and %s with %s, whose p99 of %s is therefore without the GC: at most %s of the default's p99 of %s is the GC's doing",
		ran, share, least, unit.Seconds(*p99(f)), unit.Percent(part), unit.Seconds(*p99(base)))
	if 1-part > goalP99 {
		text += fmt.Sprintf(", so no setting of the GC reaches %vx", goalP99)
	}
	return text + "."
}

// delayed says what delays the slow requests of an arm, all its runs together; "" where that is
// not known.
func delayed(a *Arm) string {
	var samples []*trial.Sample
	for _, r := range a.Runs {
		if r.counts() {
			samples = append(samples, r.Sample)
		}
	}
	if d := trial.DelaysOf(samples); d != nil {
		return report.Delays(&result.Arm{Load: result.SummarizeLoads(samples), Delays: d})
	}
	return overlaps(samples)
}

// overlaps sums up what runs that were read from a file have: counts, but not what tells
// chance.
func overlaps(samples []*trial.Sample) string {
	slow, some, groups := 0, 0, 0
	var causes []delay.Overlap
	for _, s := range samples {
		d := s.Delays
		if d == nil {
			continue
		}
		slow, some, groups = slow+d.Slow, some+d.Some, groups+d.Episodes
		for _, c := range d.Causes {
			i := slices.IndexFunc(causes, func(o delay.Overlap) bool { return o.Cause == c.Cause })
			if i < 0 {
				causes = append(causes, delay.Overlap{Cause: c.Cause})
				i = len(causes) - 1
			}
			causes[i].Slow, causes[i].Some, causes[i].Chance = causes[i].Slow+c.Slow, causes[i].Some+c.Some, causes[i].Chance+c.Chance
		}
	}
	var out []string
	for _, c := range causes {
		if c.Slow > 0 {
			out = append(out, fmt.Sprintf("%s overlap %s (%s of all requests do; %s would by chance)", unit.Percent(float64(c.Slow)/float64(slow)),
				c.Cause.Text(), unit.Percent(float64(c.Some)/float64(some)), unit.Percent(c.Chance/float64(slow))))
		}
	}
	if out == nil {
		return ""
	}
	return fmt.Sprintf("of %s slow requests, in %s, %s.", unit.Number(int64(slow)), unit.Plural(groups, "group"), strings.Join(out, ", "))
}

// p99 is that of all runs of an arm; nil where it is not known.
func p99(f figures) *float64 {
	if f.merged == nil {
		return nil
	}
	return f.merged.Latency.P99
}
