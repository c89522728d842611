package document

import (
	"cmp"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// waterfallBlock draws the parts of RSS, and lists them. gc says how the GC is set.
func waterfallBlock(w *result.Waterfall, gc string) *Block {
	c := &Chart{Kind: Bars, Title: "RSS by part", X: Axis{Label: "memory", Format: Bytes},
		Caption: formatf("The parts add up to RSS, %s. Column how: read from the kernel or the Go runtime, computed from that, or the remainder.", unit.Size(w.RSS))}
	other := int64(0)
	in := Series{Name: "in memory", Color: 1}
	tb := &Table{Caption: "RSS by part" + HeadingsSort, Sort: true, Head: cols("part", "in memory", "share", "counted by the runtime", "changed while read", "how")}
	tb.Head[5] = Column{Label: "how", Minor: true}
	drop(tb.Head, "share", "changed while read", "counted by the runtime")
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
		minor := max(p.Bytes, -p.Bytes) < int64(w.RSS/100)
		if minor {
			other += p.Bytes
		}
		tb.Rows = append(tb.Rows, Row{Cells: cells, Minor: minor})
		for _, of := range p.Of {
			tb.Rows = append(tb.Rows, Row{Minor: true, Cells: []Cell{plain("  " + of.Name), size(of.Bytes), part(float64(of.Bytes), w.RSS), plain("-"), plain("-"), plain("")}})
		}
		if p.Bytes > 0 {
			in.P = append(in.P, Point{X: float64(p.Bytes), Y: float64(len(c.Y.Categories)), Name: p.Title(), Text: unit.Size(uint64(p.Bytes))})
			c.Y.Categories = append(c.Y.Categories, p.Title())
		}
	}
	if other != 0 {
		tb.Rows = append(tb.Rows, Row{Rest: true, Cells: []Cell{plain("other parts"), num(report.SignedSize(other), float64(other)), part(float64(other), w.RSS), plain("-"), plain("-"), plain("")}})
	}
	drift := plain("-")
	if d := w.Drift; d != nil {
		drift = size(uint64(max(*d, -*d)))
	}
	tb.Rows = append(tb.Rows, Row{Mark: true, Cells: []Cell{plain("RSS"), size(w.RSS), part(float64(w.RSS), w.RSS), plain("-"), drift, plain("")}})
	tb.dropUnchanged(4)
	b := &Block{Title: "Where the memory is", Tables: []*Table{tb}, Words: report.WaterfallNotes(w, gc)}
	if len(in.P) > 0 {
		c.Series = []Series{in}
		b.Charts = []*Chart{c}
	}
	b.Folds = classFold(w.Classes)
	return b
}

// dropUnchanged leaves out a column in which nothing is more than zero.
func (t *Table) dropUnchanged(column int) {
	for _, r := range t.Rows {
		if v := r.Cells[column].Sort; v != nil && *v > 0 {
			return
		}
	}
	for i := range t.Rows {
		t.Rows[i].Cells[column] = plain("")
	}
	t.dropEmpty()
}

// part is a share of RSS.
func part(bytes float64, rss uint64) Cell {
	if rss == 0 {
		return plain(unit.None)
	}
	return share(bytes / float64(rss))
}

// adviceBlocks list what would make the parts smaller, and apart what is in use.
func adviceBlocks(w *result.Waterfall) (out []*Block) {
	for _, b := range []struct {
		inUse bool
		title string
	}{{false, report.Reclaimable(w)}, {true, report.InUse}} {
		t := &Table{Wrap: true, Head: []Column{{Label: "what"}, {Label: "why"}, {Label: "what to do"},
			{Label: "command, setting or place"}, {Label: "what it means", Minor: true}}}
		for i := range w.Advice {
			a := &w.Advice[i]
			if a.InUse == b.inUse {
				t.Rows = append(t.Rows, Row{Cells: []Cell{plain(report.AdviceTitle(a)), plain(a.What), plain(a.Do), code(cmp.Or(a.Code, a.Subject)), plain(a.Means)}})
			}
		}
		if len(t.Rows) > 0 {
			out = append(out, &Block{Key: true, Title: b.title, Tables: []*Table{t}})
		}
	}
	return out
}

// topClasses is how many size classes are listed before the others.
const topClasses = 8

// classFold lists the spans for objects by size class: those with the most free memory, and
// what the others have together; nil without any.
func classFold(classes []result.MemoryClass) []*Fold {
	if len(classes) == 0 {
		return nil
	}
	const title = "Spans by the size of their objects"
	t := &Table{Caption: title, Sort: true, Head: cols("objects of", "spans", "spans have", "objects have", "in memory", "free in memory")}
	rest, sum := 0, result.MemoryClass{}
	for i, c := range classes {
		if i >= topClasses && len(classes) > topClasses+1 {
			rest++
			sum.Spans, sum.Bytes, sum.Objects, sum.Resident, sum.Unused = sum.Spans+c.Spans, sum.Bytes+c.Bytes, sum.Objects+c.Objects, sum.Resident+c.Resident, sum.Unused+c.Unused
			continue
		}
		name := plain("large")
		if c.Size > 0 {
			name = num(unit.Exact(c.Size), float64(c.Size))
		}
		t.Rows = append(t.Rows, classRow(name, c))
	}
	if rest > 0 {
		t.Rows = append(t.Rows, classRow(plain(formatf("other size classes: %d", rest)), sum))
	}
	return []*Fold{{Title: title, Tables: []*Table{t}}}
}

func classRow(name Cell, c result.MemoryClass) Row {
	return Row{Cells: []Cell{name, num(unit.Count(float64(c.Spans)), float64(c.Spans)), size(c.Bytes), size(c.Objects), size(c.Resident), size(c.Unused)}}
}
