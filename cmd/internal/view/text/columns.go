package text

import (
	"strings"

	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/internal/base/console"
)

// A grid is a table's cells, laid out for a terminal. Columns that are empty in every row take
// no room.
type grid struct {
	head  []document.Column
	rows  [][]string
	width []int
	name  int // the column that says what a row is of
	room  int // for a line; 0 for no bound
}

// columns lays out rows. What is named is never cut, unless the column says so: in a narrow terminal, columns are left out,
// a name that is still too long takes a line of its own, and what has too many columns is a list.
func (p *printer) columns(t *document.Table, rows [][]string) (lines []string) {
	g := &grid{head: t.Head, rows: rows, width: make([]int, len(t.Head)), room: p.o.Width}
	if g.head[0].Num { // names come last
		for i, c := range g.head {
			if !c.Num {
				g.name = i
			}
		}
	}
	for _, r := range rows {
		for i, c := range r {
			r[i] = console.Line(c)
			g.width[i] = max(g.width[i], console.Width(r[i]))
		}
	}
	cut := g.head[g.name].Cut && !p.o.Full
	if t.Bar > 0 { // takes what room there is
		g.room = 0
	}
	if g.room > 0 && g.figures()+g.width[g.name]+2 > g.room {
		if !p.o.Full {
			p.left = g.drop() || p.left
		}
		if cut {
			g.cut()
		}
		if g.figures()+nameIndent > g.room {
			return g.list()
		}
	}
	bars := p.bars(t, g.width)
	g.shareName()
	for n, r := range rows {
		bar := ""
		if bars != nil {
			bar = bars[n+len(bars)-len(rows)]
		}
		lines = append(lines, g.lines(r, bar)...)
	}
	return lines
}

// nameIndent is the indent of figures below a name.
const nameIndent = 4

// figures is the width of all columns but the name's.
func (g *grid) figures() int {
	sum := 0
	for i, w := range g.width {
		if i != g.name && w > 0 {
			sum += w + 2
		}
	}
	return sum
}

// drop leaves out columns, the least useful first, until names of up to half of the line fit, or
// what is shown at least of those that are cut.
func (g *grid) drop() (dropped bool) {
	most := g.room / 2
	if g.head[g.name].Cut {
		most = leastCut
	}
	for g.figures()+min(g.width[g.name], most)+2 > g.room {
		least := -1
		for i, c := range g.head {
			if c.Drop > 0 && g.width[i] > 0 && i != g.name && (least < 0 || c.Drop < g.head[least].Drop) {
				least = i
			}
		}
		if least < 0 {
			break
		}
		g.width[least], dropped = 0, true
	}
	return dropped
}

// leastCut is how much of a name is shown at least.
const leastCut = 20

// cut shortens names to the room that figures leave.
func (g *grid) cut() {
	most := max(leastCut, g.room-2-g.figures())
	for _, r := range g.rows {
		r[g.name] = shortened(r[g.name], most)
	}
	g.width[g.name] = min(g.width[g.name], most)
}

// shortened is a command line in so many columns: first the directories of its program go.
func shortened(command string, most int) string {
	if console.Width(command) <= most {
		return command
	}
	program, rest, _ := strings.Cut(command, " ")
	command = strings.TrimSpace(program[strings.LastIndexByte(program, '/')+1:] + " " + rest)
	if r := []rune(command); len(r) > most {
		command = string(r[:most-3]) + "..."
	}
	return command
}

// shareName makes the name's column as wide as the longest name that fits beside the figures.
func (g *grid) shareName() {
	if g.room == 0 {
		return
	}
	most := 0
	for _, r := range g.rows {
		if w := console.Width(r[g.name]); w <= g.room-2-g.figures() {
			most = max(most, w)
		}
	}
	g.width[g.name] = max(most, nameIndent-2)
}

// lines are those of a row.
func (g *grid) lines(row []string, bar string) []string {
	name := ""
	if g.room > 0 && console.Width(row[g.name]) > g.width[g.name] {
		name = row[g.name]
	}
	var b strings.Builder
	for i, c := range row {
		if g.width[i] == 0 {
			continue
		}
		if i == g.name && name != "" {
			c = ""
		}
		b.WriteString("  ")
		pad := strings.Repeat(" ", g.width[i]-console.Width(c))
		if g.head[i].Num {
			b.WriteString(pad + c)
		} else {
			b.WriteString(c + pad)
		}
		if bar != "" && i == 0 {
			b.WriteString("  " + bar)
		}
	}
	switch {
	case name == "":
		return []string{b.String()}
	case g.name > 0:
		return append([]string{b.String()}, console.Wrap("    ", "      ", name, g.room)...)
	}
	return append(console.Wrap("  ", "      ", name, g.room), b.String())
}

// list has each figure behind its heading, below the name; words need none.
func (g *grid) list() (lines []string) {
	rows := g.rows
	labels := rows[0]
	for _, c := range g.head {
		if c.Label != "" { // the first row has the headings
			rows = rows[1:]
			break
		}
	}
	for _, r := range rows {
		lines = append(lines, console.Wrap("  ", "      ", r[g.name], g.room)...)
		var figures []string
		for i, c := range r {
			if i != g.name && c != "" && g.width[i] > 0 {
				if g.head[i].Num {
					c = strings.TrimSpace(labels[i] + " " + c)
				}
				figures = append(figures, c)
			}
		}
		lines = append(lines, console.Wrap("    ", "      ", strings.Join(figures, ", "), g.room)...)
	}
	return lines
}
