package document

import (
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// leftEarly lists the arms that are not in the final; nil where there is none.
func (t *tuned) leftEarly() *Table {
	tb := &Table{Caption: "Few runs each, scaled to those of the default in the same rounds: approximate, so no percentages.",
		Sort: true, Head: []Column{{Label: "setting"}, {Label: "what is known"}, {Label: t.of.label() + ", about", Num: true}, {Label: "peak RSS", Num: true, Drop: 2}, {Label: "runs", Num: true, Drop: 1}}}
	if len(t.arms) == 0 || t.arms[0].Final == nil {
		return nil
	}
	for i := range t.arms {
		if a := &t.arms[i]; a.Final == nil {
			about := plain("")
			if a.placed {
				about = num(t.of.text(a.y), a.y)
			}
			tb.Rows = append(tb.Rows, Row{Cells: []Cell{code(a.Name), plain(report.LeftEarly(a.Arm)), about,
				a.peak(), num(itoa(len(a.Samples)), float64(len(a.Samples)))}})
		}
	}
	if len(tb.Rows) == 0 {
		return nil
	}
	tb.dropEmpty()
	return tb
}

// benchmarks compares each Go benchmark, where there are several.
func (t *tuned) benchmarks() *Block {
	a := t.file.Answer
	if a == nil || len(a.Benchmarks) == 0 || len(t.file.Recommendations) == 0 {
		return nil
	}
	tb := &Table{Caption: "Each benchmark, adjusted for drift", Sort: true,
		Head: cols("benchmark", "default", t.file.Recommendations[0].Arm, "vs default")}
	for _, b := range a.Benchmarks {
		row := Row{Cells: []Cell{code(strings.TrimSuffix(b.Name, " "+result.MetricBench)),
			num(unit.Seconds(b.Default/1e9), b.Default), num(unit.Seconds(b.Setting/1e9), b.Setting), plain("-")}}
		if b.Ratio != nil {
			row.Cells[3] = num(report.Change(b.Ratio), b.Ratio.Ratio)
		}
		tb.Rows = append(tb.Rows, row)
	}
	return &Block{Key: true, Title: "Benchmarks", Tables: []*Table{tb}}
}

// measured lists the arms of a search that ended before anything could be compared.
func (t *tuned) measured() *Table {
	tb := &Table{Caption: "Medians as measured. Do not compare them: the machine may have changed its speed in between.",
		Head: drop(append(cols("setting", t.of.label(), "peak RSS", t.noun()+"s"), Column{Label: "status"}), t.noun()+"s")}
	for i := range t.arms {
		a := &t.arms[i]
		median := plain("-")
		if m := a.Measured; m != nil {
			median = num(t.of.text(m.Median), m.Median)
		}
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{code(a.Name), median,
			a.peak(), num(itoa(len(a.Samples)), float64(len(a.Samples))), plain(report.LeftEarly(a.Arm))}})
	}
	return tb
}

// peak is the cell of an arm's peak memory.
func (a *tunedArm) peak() Cell {
	if a.memory.N == 0 {
		return plain("-")
	}
	return num(report.Peak(a.Arm, a.memory.Median), a.memory.Median)
}
