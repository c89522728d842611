package document

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// named returns the arm with a name that ran; nil if there is none.
func (l *labView) named(name string) *result.LabArm {
	for _, a := range l.ran {
		if a.Name == name && a.Ran {
			return a
		}
	}
	return nil
}

// against prints how a figure of an arm differs from the base's, as benchstat does:
// -17.3% (p=0.002), or ~ where that is undecided.
func against(a *result.LabArm, key string) Cell {
	d, ok := a.Against[key]
	if !ok {
		return plain("")
	}
	delta := "~"
	if d.Different {
		delta = unit.Change(d.Ratio)
	}
	return num(formatf("%s (p=%.3f)", delta, d.P), d.Ratio)
}

// across are, for each arm but the base, the figures as rows: base, arm, difference, and
// their geometric means. Of the base alone, if no other ran.
func (l *labView) across() (out []*Table) {
	base := l.named(l.Base)
	if base == nil {
		return nil
	}
	for _, a := range l.ran {
		if a != base && a.Ran {
			out = append(out, l.versus(base, a))
		}
	}
	if len(out) == 0 {
		out = append(out, l.versus(base, base))
	}
	return out
}

// versus is the table of an arm beside the base; of the base alone, if the arm is the base.
func (l *labView) versus(base, a *result.LabArm) *Table {
	t := &Table{Caption: a.Name, Head: drop(cols("benchmark", base.Name, "interval", a.Name, "interval", "vs "+base.Name, "n"), "n", "interval")}
	if a != base {
		t.Caption += " against " + base.Name
	}
	var olds, news []float64
	for _, f := range l.Figures {
		was, is := labAt(base, l.Parameters.SizeBytes, f.Key), labAt(a, l.Parameters.SizeBytes, f.Key)
		if f.Minor || was.N == 0 || is.N == 0 {
			continue
		}
		olds, news = append(olds, was.Median), append(news, is.Median)
		format := figure.KindOf(f.Key).Format
		t.Rows = append(t.Rows, Row{Cells: []Cell{code(f.Label), num(format(was.Median), was.Median), plain(was.Summary().SpreadText()),
			num(format(is.Median), is.Median), plain(is.Summary().SpreadText()), against(a, f.Key), num(itoa(is.N), float64(is.N))}})
	}
	format, before, mean := figure.KindOf(l.Figure).Format, stat.GeoMean(olds), stat.GeoMean(news)
	t.Rows = append(t.Rows, Row{Mark: true, Cells: []Cell{plain("geomean"), num(format(before), before), plain(""), num(format(mean), mean), plain(""),
		num(unit.Change(mean/before), mean/before), plain("")}})
	if a == base {
		t.Head = append(t.Head[:3:3], t.Head[6])
		for i, r := range t.Rows {
			t.Rows[i].Cells = append(r.Cells[:3:3], r.Cells[6])
		}
	}
	t.dropEmpty()
	return t
}

// labAt is a figure of the arm at a size.
func labAt(a *result.LabArm, size uint64, key string) result.Interval {
	for _, p := range a.Points {
		if i, ok := p.Figures[key]; ok && p.SizeBytes == size {
			return i
		}
	}
	return result.Interval{Median: math.NaN()}
}
