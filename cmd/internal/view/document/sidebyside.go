package document

import (
	"math"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
)

// ranTogether draws runs side by side: their figures relative to the first result's,
// and each of their runs. nil if there is nothing to draw.
func ranTogether(results []*result.Result) *Block {
	b := &Block{Title: "The runs side by side", Fold: true}
	tb := &Table{Caption: "Medians of the runs", Head: []Column{{Label: "figure"}}}
	bars := &Chart{Kind: Bars, Title: formatf("Figures relative to %s", results[0].Name), X: Axis{Label: "of " + results[0].Name, Format: Percent}}
	for i, r := range results {
		tb.Head = append(tb.Head, Column{Label: r.Name, Num: true})
		bars.Series = append(bars.Series, Series{Name: r.Name, Color: i % 7, Shape: i})
	}
	least, most := math.Inf(1), 0.0
	add := func(label string, format func(float64) string, of func(*result.Arm) (stat.Summary, bool)) {
		first, ok := of(&results[0].Program().Arms[0])
		if !ok {
			return
		}
		base := first.Median
		row := Row{Cells: []Cell{plain(label)}}
		for i, r := range results {
			s, ok := of(&r.Program().Arms[0])
			if !ok {
				row.Cells = append(row.Cells, plain("-"))
				continue
			}
			row.Cells = append(row.Cells, num(format(s.Median), s.Median))
			if base <= 0 {
				continue
			}
			p := Point{X: s.Median / base, Y: float64(len(bars.Y.Categories)), Name: label, Text: format(s.Median),
				Tip: [][2]string{{label, format(s.Median) + spread(s)}, {"runs", itoa(s.N)}}}
			if s.HasInterval {
				lo, hi := s.Lo/base, s.Hi/base
				p.XLo, p.XHi = &lo, &hi
			}
			if p.X > 0 {
				least, most = min(least, p.X), max(most, p.X)
			}
			bars.Series[i].P = append(bars.Series[i].P, p)
		}
		tb.Rows = append(tb.Rows, row)
		if base > 0 {
			bars.Y.Categories = append(bars.Y.Categories, label)
		}
	}
	if of := targetOf(results[0].Program()); of.spec.Pattern != nil {
		add(of.label(), of.text, func(a *result.Arm) (stat.Summary, bool) {
			if a.Measured == nil {
				return stat.Summary{}, false
			}
			return a.Measured.Summary(), true
		})
	}
	for _, f := range result.Figures {
		if !f.Main {
			continue
		}
		add(f.Label, f.Format, func(a *result.Arm) (stat.Summary, bool) { return a.Summary.Of(f.Key) })
	}
	if len(bars.Y.Categories) == 0 {
		return nil
	}
	if most > 8*least {
		bars.X.Scale = Log
	}
	b.Charts, b.Tables = []*Chart{bars}, []*Table{tb}
	if runs := runsBeside(results); runs != nil {
		b.Charts, b.Tables = append(b.Charts, runs.Charts...), append(b.Tables, runs.Tables...)
	}
	return b
}

// inDetail are runs by call path and over time.
func inDetail(results []*result.Result) (out []*Block) {
	var paths []called
	var over []timed
	for _, r := range results {
		a := &r.Program().Arms[0]
		if r.Program().Analysis != nil {
			paths = append(paths, called{r.Name, r.Program().Analysis.Profile, a.Tree})
		}
		if t, ok := timedOf(r.Name, a.Samples); ok {
			over = append(over, t)
		}
	}
	if len(paths) > 1 {
		if b := callsBlock(paths); b != nil {
			b.Words = append(b.Words, "The runs were not interleaved: a difference may be the machine's.")
			out = append(out, b)
		}
	}
	if len(over) > 1 {
		out = append(out, timeline(over))
	}
	return out
}
