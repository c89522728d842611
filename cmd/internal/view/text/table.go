package text

import (
	"cmp"
	"math"
	"strings"

	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/internal/base/console"
)

// The bar of the largest share, in columns.
const leastBar, barWidth, mostBar = 10, 30, 60

// table prints a table below its caption, unless that is the title above it, or the table is
// alone there and the caption explains nothing.
func (p *printer) table(t *document.Table, title string, alone bool) {
	if len(t.Rows) == 0 {
		return
	}
	if caption := t.TextCaption(); caption != title && (p.o.Full || !alone || strings.Contains(caption, ";")) {
		p.say("  ", caption)
	}
	t = p.shown(t)
	if t.Wrap && p.long(t) {
		if p.hanging(t) {
			return
		}
		if len(t.Head) > 2 {
			p.sentences(t)
			return
		}
	}
	rows := t.Rows
	if t.More != "" && p.o.Rows > 0 && len(rows) > p.o.Rows {
		rows = rows[:p.o.Rows]
	}
	all := [][]string{nil}
	for _, c := range t.Head {
		all[0] = append(all[0], c.Label)
	}
	for _, r := range rows {
		var cells []string
		for _, c := range r.Cells {
			cells = append(cells, c.Text)
		}
		all = append(all, cells)
	}
	if len(t.Head) == 1 || strings.Join(all[0], "") == "" || (t.Bar > 0 || t.Bare) && !p.o.Full { // what has bars speaks for itself
		all = all[1:]
	}
	for _, l := range p.columns(t, all) {
		p.line(l)
	}
	p.more(len(t.Rows)-len(rows), t.More)
}

// shown is a table without what is not part of the answer, unless all is to be shown.
func (p *printer) shown(t *document.Table) *document.Table {
	out := *t
	if p.o.Full {
		out.Rows = t.All()
		return &out
	}
	out.Head, out.Rows = nil, nil
	for i, c := range t.Head {
		if c.Minor {
			if i < t.Bar {
				out.Bar--
			}
			continue
		}
		out.Head = append(out.Head, c)
	}
	for _, r := range t.Rows {
		if r.Minor {
			continue
		}
		cells := r.Cells
		r.Cells = nil
		for i, c := range cells {
			if !t.Head[i].Minor {
				r.Cells = append(r.Cells, c)
			}
		}
		out.Rows = append(out.Rows, r)
	}
	return &out
}

// bars draws the column that a table has bars of, with one for its head; nil for none.
func (p *printer) bars(t *document.Table, width []int) []string {
	if t.Bar == 0 {
		return nil
	}
	long := barWidth
	if p.o.Width > 0 {
		long = p.o.Width - 4
		for _, w := range width {
			long -= w + 2
		}
		long = max(leastBar, min(mostBar, long))
	}
	most := 0.0
	value := func(r document.Row) float64 {
		if v := r.Cells[t.Bar].Sort; v != nil && !math.IsInf(*v, 0) && !r.Mark {
			return *v
		}
		return 0
	}
	for _, r := range t.Rows {
		most = max(most, value(r))
	}
	out := []string{strings.Repeat(" ", long)}
	for _, r := range t.Rows {
		bar := ""
		if v := value(r); v > 0 {
			bar = cmp.Or(strings.Repeat("█", int(v/most*float64(long)+0.5)), "▏")
		}
		out = append(out, bar+strings.Repeat(" ", long-console.Width(bar)))
	}
	return out
}

// widest is how many columns a table of words takes at most where the width is not known.
const widest = 120

// long says whether a table has sentences that leave no room for columns.
func (p *printer) long(t *document.Table) bool {
	room, sum := cmp.Or(p.o.Width, widest), 0
	for i := range t.Head {
		most := 0
		for _, r := range t.Rows {
			most = max(most, console.Width(r.Cells[i].Text))
		}
		sum += most + 2
	}
	return sum > room
}

// hanging prints a table whose last cells are sentences, each wrapped beside the others of its
// row; false where those leave less than half of a line.
func (p *printer) hanging(t *document.Table) bool {
	last := len(t.Head) - 1
	head := document.Row{}
	for _, c := range t.Head {
		head.Cells = append(head.Cells, document.Cell{Text: c.Label})
	}
	rows := append([]document.Row{head}, t.Rows...)
	room, sum := cmp.Or(p.o.Width, widest), 2
	width := make([]int, last)
	for i := range width {
		for _, r := range rows {
			width[i] = max(width[i], console.Width(console.Line(r.Cells[i].Text)))
		}
		sum += width[i] + 2
	}
	if t.Head[last].Num || sum > room/2 {
		return false
	}
	for _, r := range rows {
		line := "  "
		for i, w := range width {
			text := console.Line(r.Cells[i].Text)
			pad := strings.Repeat(" ", w-console.Width(text))
			if t.Head[i].Num {
				text = pad + text + "  "
			} else {
				text += pad + "  "
			}
			line += text
		}
		if p.o.Width <= 0 {
			p.line(line + r.Cells[last].Text)
			continue
		}
		for _, l := range console.Wrap(line, strings.Repeat(" ", sum), r.Cells[last].Text, p.o.Width) {
			p.line(l)
		}
	}
	return true
}

// sides is how many columns a table has that compares two sides: which one a cell is of must
// be said.
const sides = 3

// sentences prints a table whose cells are sentences: what is short on one line, and each
// sentence on lines of its own below.
func (p *printer) sentences(t *document.Table) {
	for _, r := range t.Rows {
		var head, below []string
		for i, c := range r.Cells {
			switch {
			case c.Text == "":
			case i == 0 || t.Head[i].Num:
				label := ""
				if t.Head[i].Num {
					label = t.Head[i].Label + " "
				}
				head = append(head, label+c.Text)
			case len(t.Head) == sides:
				below = append(below, t.Head[i].Label+": "+c.Text)
			default:
				below = append(below, c.Text)
			}
		}
		p.say("  ", strings.Join(head, ", "))
		for _, l := range below {
			p.say("    ", l)
		}
	}
}
