package report

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// differs prints how a figure of an arm differs from the base's, as benchstat does:
// -17.3% (p=0.002), or ~ where that is undecided.
func differs(a *result.LabArm, notes *stat.Notes, key string) string {
	d, ok := a.Against[key]
	if !ok {
		return ""
	}
	delta := "~"
	if d.Different {
		delta = unit.Change(d.Ratio)
	}
	text := fmt.Sprintf("%s (p=%.3f)", delta, d.P)
	if note := marks(notes, d.Warnings); note != "" {
		text += " " + note
	}
	return text
}

// acrossTables returns, for each arm but the base, the table of the figures: base, arm,
// difference, and their geometric means.
func acrossTables(e *result.LabExperiment, notes *stat.Notes) (out []labTable) {
	base := labArm(e, e.Base)
	if base == nil {
		return nil
	}
	for i := range e.Arms {
		if a := &e.Arms[i]; a != base && a.Ran {
			out = append(out, labTable{versus(e, notes, base, a), a.Name + " against " + base.Name})
		}
	}
	if len(out) == 0 {
		out = append(out, labTable{versus(e, notes, base, base), base.Name})
	}
	return out
}

// versus returns the table of an arm beside the base; of the base alone, if the arm
// is the base.
func versus(e *result.LabExperiment, notes *stat.Notes, base, a *result.LabArm) *table {
	t := &table{left: map[int]bool{0: true, 2: true, 4: true, 5: true}}
	head := []string{"benchmark", base.Name, "", "", "", "", "n"}
	if a != base {
		head[3], head[5] = a.Name, "vs "+base.Name
	}
	t.add(head...)
	var olds, news []float64
	size := e.Parameters.SizeBytes
	for _, f := range e.Figures {
		was, is := labAt(base, size, f.Key), labAt(a, size, f.Key)
		if f.Minor || was.N == 0 || is.N == 0 {
			continue
		}
		olds, news = append(olds, was.Median), append(news, is.Median)
		row := []string{f.Label, figure.KindOf(f.Key).Format(was.Median), spreadOrNote(notes, was), "", "", "", fmt.Sprint(is.N)}
		if a != base {
			row[3], row[4], row[5] = figure.KindOf(f.Key).Format(is.Median), spreadOrNote(notes, is), differs(a, notes, f.Key)
		}
		t.add(row...)
	}
	format := figure.KindOf(e.Figure).Format
	row := []string{"geomean", format(stat.GeoMean(olds)), "", "", "", "", ""}
	if a != base {
		mean := stat.GeoMean(news)
		row[3], row[5] = format(mean), unit.Change(mean/stat.GeoMean(olds))
	}
	t.add(row...)
	return t
}
