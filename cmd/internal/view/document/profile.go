package document

import (
	"slices"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A split is where the time of a row of bars went.
type split struct {
	name string
	of   *result.Profile
}

// classColors are the colors of the memory classes, one each; the rest is grey, lighter where
// classLight has it.
var classColors = map[result.Class]int{
	result.ClassGCMark: 2, result.ClassGCAssist: 8, result.ClassGCSweep: 4, result.ClassWriteBarrier: 9,
	result.ClassAllocation: 1, result.ClassZeroing: 6, result.ClassGrowth: 3, result.ClassPageFaults: 5,
}

var classLight = map[result.Class]int{result.ClassSyscalls: 1, result.ClassScheduler: 2, result.ClassUnnamed: 2, result.ClassProgram: 3}

// littleClass is the share of CPU time below which a class is not part of the answer, littleOther
// that of a class outside the memory tax, of which the answer is not.
const littleClass, littleOther = 0.02, 0.05

// keySites is how many call sites are part of the answer, but for those of less than littleSite.
const (
	keySites   = 3
	littleSite = 0.01
)

// whereBlock draws where CPU time went, a bar for each split; nil when
// nothing was sampled.
func whereBlock(splits []split) *Block {
	c := &Chart{Kind: Stack, Title: "CPU time by class", X: Axis{Label: "CPU time", Format: Seconds}}
	const title = "CPU time by class; * is part of the memory tax"
	tb := &Table{Caption: title, Head: cols("class")}
	alone := len(splits) == 1
	if alone {
		tb.Bar = 2
	}
	var rows []split
	for _, s := range splits {
		if s.of != nil && s.of.Samples > 0 {
			rows = append(rows, s)
			c.Y.Categories = append(c.Y.Categories, s.name)
			tb.Head = append(tb.Head, Column{Label: s.name, Num: true})
			if alone {
				tb.Head = append(tb.Head, Column{Label: "share", Num: true})
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	rest := make([]result.ClassShare, len(rows)) // of the classes that the answer leaves out
	for n, class := range result.Classes {
		series := Series{Name: class.Title, Color: classColors[class.Class], Light: classLight[class.Class]}
		if class.Memory {
			series.Name += " *"
		}
		row := Row{Cells: []Cell{plain(series.Name)}, Minor: true}
		any, little := false, littleClass
		if !class.Memory {
			little = littleOther
		}
		for i, s := range rows {
			share := s.of.Share(class.Class)
			any = any || share.Seconds > 0
			part := unit.Percent(share.Fraction)
			row.Minor = row.Minor && share.Fraction < little && !(class.GC && part != unit.Percent(0))
			if share.Seconds > 0 {
				series.P = append(series.P, Point{X: share.Seconds, Y: float64(i), Name: s.name, Text: part,
					Tip: [][2]string{{"time", unit.Seconds(share.Seconds)}, {"of all", part}}})
			}
			row.Cells = append(row.Cells, shareCells(share, alone)...)
		}
		if any {
			c.Series, tb.Rows = append(c.Series, series), append(tb.Rows, row)
		}
		for i, s := range rows {
			if row.Minor {
				share := s.of.Share(class.Class)
				rest[i].Seconds, rest[i].Fraction = rest[i].Seconds+share.Seconds, rest[i].Fraction+share.Fraction
			}
		}
		switch {
		case n == len(result.Classes)-1:
			tb.Rows = append(tb.Rows, restRow("everything else", rest, alone)...)
		case class.Memory && !result.Classes[n+1].Memory: // the last of them
			tb.Rows = append(tb.Rows, restRow("other memory classes *", rest, alone)...)
			clear(rest)
		}
	}
	for _, sum := range []struct {
		label string
		of    func(*result.Profile) *float64
	}{
		{"GC share", func(r *result.Profile) *float64 { return r.GCFraction }},
		{"memory tax", func(r *result.Profile) *float64 { return r.MemoryTaxFraction }},
	} {
		row := Row{Cells: []Cell{plain(sum.label)}, Mark: true, Minor: alone} // the answer has it
		for _, s := range rows {
			share := plain("unknown")
			if v := sum.of(s.of); v != nil {
				share = num(unit.Percent(*v), *v)
			}
			if alone {
				row.Cells = append(row.Cells, plain(""))
			}
			row.Cells = append(row.Cells, share)
		}
		tb.Rows = append(tb.Rows, row)
	}
	c.Caption = "Colored: classes of the memory tax. By sampling."
	return &Block{Title: title, Charts: []*Chart{c}, Tables: []*Table{tb}, Fold: true}
}

// shareCells are the time of a class and its share, in one cell beside those of others.
func shareCells(s result.ClassShare, alone bool) []Cell {
	time, part := unit.Seconds(s.Seconds), unit.Percent(s.Fraction)
	if alone {
		return []Cell{num(time, s.Seconds), num(part, s.Fraction)}
	}
	return []Cell{num(time+" ("+part+")", s.Seconds)}
}

// restRow is the sum of classes that are not part of the answer, unless it is printed as zero.
func restRow(name string, rest []result.ClassShare, alone bool) []Row {
	row, any := Row{Cells: []Cell{plain(name)}, Rest: true}, false
	for _, r := range rest {
		any = any || unit.Percent(r.Fraction) != unit.Percent(0)
		row.Cells = append(row.Cells, shareCells(r, alone)...)
	}
	if !any {
		return nil
	}
	return []Row{row}
}

const sitesTitle = "Call sites with the most memory tax"

// sitesTable lists the call sites that pay the memory tax.
func sitesTable(r *result.Profile) *Table {
	if r == nil || len(r.Sites) == 0 {
		return nil
	}
	tb := &Table{Caption: sitesTitle, Sort: true, Bare: true,
		Head: []Column{{Label: "function"}, {Label: "place"}, {Label: "share", Num: true}, {Label: "CPU time", Num: true}}}
	for i, s := range r.Sites {
		tb.Rows = append(tb.Rows, Row{Minor: i >= keySites || i > 0 && s.Fraction < littleSite, Cells: []Cell{code(s.Name()), code(s.Place()),
			num(unit.Percent(s.Fraction), s.Fraction), num(unit.Seconds(s.Seconds), s.Seconds)}})
	}
	return tb
}

// where compares where the time of the default and of the recommended arms went.
func (t *tuned) where() *Block {
	splits := []split{{"default", t.arms[0].Profile}}
	seen := map[string]bool{t.arms[0].Name: true}
	for _, r := range t.file.Recommendations {
		if !seen[r.Arm] {
			splits = append(splits, split{r.Arm, t.arm(r.Arm).Profile})
			seen[r.Arm] = true
		}
	}
	return whereBlock(splits)
}

// inDetail are the default and what is recommended, by call path and over time.
func (t *tuned) inDetail() (out []*Block) {
	var paths []called
	var over []timed
	add := func(name string) {
		a := t.arm(name)
		if slices.ContainsFunc(paths, func(c called) bool { return c.name == a.Name }) {
			return
		}
		paths = append(paths, called{a.Name, a.Profile, a.Tree})
		if x, ok := timedOf(a.Name, a.Samples); ok {
			over = append(over, x)
		}
	}
	add(t.arms[0].Name)
	for _, r := range t.file.Recommendations {
		add(r.Arm)
	}
	if b := callsBlock(paths); b != nil {
		out = append(out, b)
	} else if tb := sitesTable(paths[0].profile); tb != nil {
		tb.Caption += " (default)"
		out = append(out, &Block{Title: "Call sites", Tables: []*Table{tb}, Fold: true})
	}
	if len(over) > 0 {
		out = append(out, timeline(over))
	}
	return out
}
