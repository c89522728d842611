package document

import (
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// waterfallBlock draws the parts of RSS, and lists them. gc says how the GC is set.
func waterfallBlock(w *result.Waterfall, gc string) *Block {
	c := &Chart{Kind: Bars, Title: "RSS by part", X: Axis{Label: "memory", Format: Bytes},
		Caption: formatf("The parts add up to RSS, %s.", unit.Size(w.RSS))}
	in := Series{Name: "in memory", Color: 1}
	tb := &Table{Caption: "RSS by part" + HeadingsSort, Sort: true, Head: cols("part", "in memory", "share", "runtime says", "+-", "how")}
	tb.Head[5] = Column{Label: "how", Minor: true}
	for _, p := range w.Parts {
		if p.Bytes == 0 && (p.Runtime == nil || *p.Runtime == 0) {
			continue
		}
		cells := []Cell{plain(p.Title()), num(report.SignedSize(p.Bytes), float64(p.Bytes)), part(float64(p.Bytes), w.RSS), plain("-"), plain("-"), plain(p.How)}
		if p.Runtime != nil {
			cells[3] = size(*p.Runtime)
		}
		if p.Uncertainty != nil {
			cells[4] = size(*p.Uncertainty)
		}
		tb.Rows = append(tb.Rows, Row{Cells: cells, Minor: max(p.Bytes, -p.Bytes) < int64(w.RSS/100)})
		for _, of := range p.Of {
			tb.Rows = append(tb.Rows, Row{Minor: true, Cells: []Cell{plain("  " + of.Name), size(of.Bytes), part(float64(of.Bytes), w.RSS), plain("-"), plain("-"), plain("")}})
		}
		if p.Bytes > 0 {
			in.P = append(in.P, Point{X: float64(p.Bytes), Y: float64(len(c.Y.Categories)), Name: p.Title(), Text: unit.Size(uint64(p.Bytes))})
			c.Y.Categories = append(c.Y.Categories, p.Title())
		}
	}
	drift := plain("-")
	if d := w.Drift; d != nil {
		drift = size(uint64(max(*d, -*d)))
	}
	tb.Rows = append(tb.Rows, Row{Mark: true, Cells: []Cell{plain("RSS"), size(w.RSS), part(float64(w.RSS), w.RSS), plain("-"), drift, plain("")}})
	b := &Block{Title: "Where the memory is", Tables: []*Table{tb}, Words: report.WaterfallNotes(w, gc)}
	if len(in.P) > 0 {
		c.Series = []Series{in}
		b.Charts = []*Chart{c}
	}
	if t := classTable(w.Classes); t != nil {
		b.Folds = []*Fold{{Title: t.Caption, Tables: []*Table{t}}}
	}
	return b
}

// part is a share of RSS.
func part(bytes float64, rss uint64) Cell {
	if rss == 0 {
		return plain(unit.None)
	}
	return share(bytes / float64(rss))
}

// adviceBlock lists what would make the parts smaller; nil for nothing.
func adviceBlock(w *result.Waterfall) *Block {
	if len(w.Advice) == 0 {
		return nil
	}
	t := &Table{Wrap: true,
		Head: []Column{{Label: "at most", Num: true}, {Label: "not by those above", Num: true, Minor: true}, {Label: "what"}, {Label: "what to do"}, {Label: "command, setting or place"},
			{Label: "what it means", Minor: true}}}
	for _, a := range w.Advice {
		at := a.Code
		if at == "" {
			at = a.Subject
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{size(a.Bytes), size(a.Beyond), plain(a.What), plain(a.Do), code(at), plain(a.Means)}})
	}
	return &Block{Title: report.MemoryAdviceTitle(w), Tables: []*Table{t}}
}

// classTable lists the spans for objects by size class; nil for none.
func classTable(classes []result.MemoryClass) *Table {
	if len(classes) == 0 {
		return nil
	}
	t := &Table{Caption: "Spans by the size of their objects", Sort: true,
		Head: cols("objects of", "spans", "spans have", "objects have", "in memory", "free in memory")}
	for _, c := range classes {
		name := plain("large")
		if c.Size > 0 {
			name = size(c.Size)
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{name, num(unit.Count(float64(c.Spans)), float64(c.Spans)), size(c.Bytes), size(c.Objects),
			size(c.Resident), size(c.Unused)}})
	}
	return t
}
