package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// chargeSection is what a memory cgroup is charged for.
func chargeSection(f *result.Charge) *Section {
	s := &Section{Kicker: "folio inspect --cgroup", Heading: cmp.Or(f.Cgroup, "a cgroup"), About: []string{formatf("cgroup version %d", f.Version)}, Notes: slices.Concat(f.Notes, report.ChargeDoubts(f)),
		Answers: []Answer{{Main: true, Figure: unit.Size(f.Charged), Text: report.ChargeSum(f) + ".", Sure: report.ChargeBack(f)}}}
	for _, a := range f.Advice {
		s.Answers = append(s.Answers, Answer{Text: a.What, Sure: a.Means, Steps: []Step{{Do: a.Do, Code: a.Code}}})
	}
	s.Blocks = []*Block{chargeBlock(f), apartBlock(f), chargedProcesses(f)}
	return s
}

// chargeBlock draws the parts of the charge, and lists them.
func chargeBlock(f *result.Charge) *Block {
	c := &Chart{Kind: Bars, Title: "Charge by part", X: Axis{Label: "memory", Format: Bytes}, Caption: formatf("The parts add up to the charge, %s.", unit.Size(f.Charged))}
	in := Series{Name: "charged", Color: 1}
	tb := &Table{Caption: "Charge by part" + HeadingsSort, Sort: true, Head: cols("part", "charged", "share", "change", "reclaimable", "how")}
	tb.Head[4], tb.Head[5] = Column{Label: "reclaimable"}, Column{Label: "how", Minor: true}
	drop(tb.Head, "share", "change")
	row := func(title string, bytes uint64, change, back, how Cell) *Row {
		tb.Rows = append(tb.Rows, Row{Minor: bytes < f.Charged/200 && change.Text == "", Cells: []Cell{plain(title), size(bytes), part(float64(bytes), f.Charged), change, back, how}})
		if bytes > 0 {
			in.P = append(in.P, Point{X: float64(bytes), Y: float64(len(c.Y.Categories)), Name: title, Text: unit.Size(bytes)})
			c.Y.Categories = append(c.Y.Categories, title)
		}
		return &tb.Rows[len(tb.Rows)-1]
	}
	var other uint64
	for _, p := range f.Parts {
		change := plain("")
		if p.Change != nil {
			change = num(report.SignedSize(*p.Change), float64(*p.Change))
		}
		minor := row(p.Title(), p.Bytes, change, plain(p.Back), plain(p.How)).Minor
		if minor {
			other += p.Bytes
		}
		for _, of := range p.Of {
			tb.Rows = append(tb.Rows, Row{Minor: minor || of.Bytes < f.Charged/200, Cells: []Cell{plain("  at most: " + of.Name), size(of.Bytes), part(float64(of.Bytes), f.Charged), plain(""), plain(""), plain("")}})
		}
	}
	if other > 0 {
		tb.Rows = append(tb.Rows, Row{Rest: true, Cells: []Cell{plain("other parts"), size(other), part(float64(other), f.Charged), plain(""), plain(""), plain("")}})
	}
	row("not explained", f.Unexplained, plain(""), plain("-"), plain("")).Minor = false
	tb.Rows = append(tb.Rows, Row{Mark: true, Cells: []Cell{plain("charge"), size(f.Charged), part(float64(f.Charged), f.Charged), plain(""), plain(""), plain("")}})
	tb.dropEmpty()
	b := &Block{Key: true, Title: "What is charged", Tables: []*Table{tb}, Words: report.ChargeNotes(f)}
	if len(in.P) > 0 {
		c.Series = []Series{in}
		b.Charts = []*Chart{c}
	}
	return b
}

// apartBlock lists what is in RSS and not charged.
func apartBlock(f *result.Charge) *Block {
	t := &Table{Head: cols("memory", "in RSS")}
	for _, a := range f.Apart {
		t.Rows = append(t.Rows, Row{Cells: []Cell{plain(a.Title()), size(a.Bytes)}})
	}
	return &Block{Key: true, Title: "In RSS and not charged to this cgroup", Tables: []*Table{t}}
}

// chargedProcesses lists the processes, and the parts of each.
func chargedProcesses(f *result.Charge) *Block {
	t := &Table{Caption: "Processes" + HeadingsSort, Sort: true, More: "process",
		Head: append(cols("process", "pid", "go", "RSS", "anonymous", "files", "shared"), Column{Label: "largest parts"}, Column{Label: "command"})}
	t.Head[2].Num = false
	drop(t.Head, "shared", "files", "anonymous", "command", "go")
	b := &Block{Key: true, Title: "Processes", Tables: []*Table{t}}
	for _, p := range f.Processes {
		release, largest := cmp.Or(text(p.GoVersion), "-"), largestParts(p.Waterfall)
		if largest == "" {
			largest = "not read"
		}
		t.Rows = append(t.Rows, Row{Cells: []Cell{code(p.Name), num(itoa(p.PID), float64(p.PID)), plain(release), size(p.RSS), sizeOr(p.Anonymous), sizeOr(p.File), sizeOr(p.Shared),
			plain(largest), code(shortened(strings.Join(p.Command, " ")))}})
		if p.Waterfall != nil && len(b.Folds) < inList {
			of := waterfallBlock(p.Waterfall, report.GCText(p.Waterfall.GC, true))
			b.Folds = append(b.Folds, &Fold{Title: formatf("RSS of process %d, %s, by part", p.PID, p.Name), Tables: of.Tables, Words: of.Words})
		}
	}
	t.Head[8].Minor = true
	return b
}

func sizeOr(n *uint64) Cell {
	if n == nil {
		return plain(unit.None)
	}
	return size(*n)
}

// largestParts names the largest parts of a process.
func largestParts(w *result.Waterfall) string {
	if w == nil {
		return ""
	}
	const most = 3
	all := slices.Clone(w.Parts)
	slices.SortStableFunc(all, func(a, b result.MemoryPart) int { return cmp.Compare(b.Bytes, a.Bytes) })
	var out []string
	for _, p := range all[:min(most, len(all))] {
		if p.Bytes > 0 {
			out = append(out, p.Title()+" "+report.SignedSize(p.Bytes))
		}
	}
	return strings.Join(out, ", ")
}
