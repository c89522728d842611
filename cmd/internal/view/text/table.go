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
	if t.Wrap && len(t.Head) > 2 && p.long(t) {
		p.sentences(t)
		return
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
	if len(t.Head) == 1 || strings.Join(all[0], "") == "" || t.Bar > 0 && !p.o.Full { // what has bars speaks for itself
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

// columns lays out rows. Columns that are empty in every row take no room.
func (p *printer) columns(t *document.Table, rows [][]string) (lines []string) {
	width := make([]int, len(t.Head))
	for _, r := range rows {
		for i, c := range r {
			r[i] = console.Line(c)
			width[i] = max(width[i], console.Width(r[i]))
		}
	}
	p.fit(t, rows, width)
	bars := p.bars(t, width)
	for n, r := range rows {
		var b strings.Builder
		for i, c := range r {
			if width[i] == 0 {
				continue
			}
			if i == 0 && console.Width(c) > width[0] {
				lines = append(lines, "  "+c)
				c = ""
			}
			b.WriteString("  ")
			pad := strings.Repeat(" ", width[i]-console.Width(c))
			if t.Head[i].Num {
				b.WriteString(pad + c)
			} else {
				b.WriteString(c + pad)
			}
			if bars != nil && i == 0 {
				b.WriteString("  " + bars[n+len(bars)-len(rows)])
			}
		}
		lines = append(lines, b.String())
	}
	return lines
}

// fit makes the columns of a table fit where the terminal is too narrow. Other words than the names
// are shortened in the middle, where they are longest; then the last columns are left to --full; a
// name that is still too long stands on a line of its own, whole: it is what readers copy.
func (p *printer) fit(t *document.Table, rows [][]string, width []int) {
	if p.o.Width <= 0 || t.Bar > 0 {
		return
	}
	over, widest, last := -p.o.Width, -1, 0
	for i, w := range width {
		if w == 0 {
			continue
		}
		over, last = over+w+2, i
		if i > 0 && !t.Head[i].Num && (widest < 0 || w > width[widest]) {
			widest = i
		}
	}
	if over > 0 && widest > 0 && width[widest] > leastWords {
		most := max(width[widest]-over, leastWords)
		for _, r := range rows {
			if c := []rune(r[widest]); len(c) > most {
				r[widest] = string(c[:most/3]) + "..." + string(c[len(c)-(most-most/3-3):])
			}
		}
		over -= width[widest] - most
		width[widest] = most
	}
	for ; over > 0 && width[0]-over < leastWords && last > 1 && !p.o.Full; last-- {
		if width[last] > 0 {
			over -= width[last] + 2
			width[last] = 0
		}
	}
	if over > 0 {
		width[0] = min(width[0], max(width[0]-over, leastWords))
	}
}

// leastWords is to how many columns words are shortened at most.
const leastWords = 20

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
