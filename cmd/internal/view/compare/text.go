package compare

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/cmd/internal/base/figure"
	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// Format returns how values of a unit are printed.
func Format(name string) func(float64) string { return figure.KindOfUnit(name).Format }

// Text prints the comparison, names shortened so that no line of a table is wider
// than width; 0 for no bound.
func (c *Comparison) Text(w io.Writer, width int) error {
	p := &printer{w: w, width: math.MaxInt}
	if width > 0 {
		p.width = max(width, 40)
	}
	c.head(p)
	if c.Doctor {
		p.list("found now, not before", c.Found)
		p.list("found before, not now", c.Gone)
		p.list("found both times", c.Still)
		if len(c.Found)+len(c.Gone)+len(c.Still) == 0 {
			p.line("")
			p.line("Nothing was found either time.")
		}
		return p.err
	}
	if c.Flat() {
		c.figures(p)
	} else {
		for _, t := range c.Tables {
			c.unit(p, t)
		}
	}
	p.list("only in old", c.OnlyOld)
	p.list("only in new", c.OnlyNew)
	if n := c.Notes.Texts(); len(n) > 0 {
		p.line("")
		for i, text := range n {
			p.line("note %d: %s", i+1, text)
		}
	}
	return p.err
}

// Head prints what must be known before figures of the two are read: what differs beside
// them, and that no verdict is possible.
func (c *Comparison) Head(w io.Writer, width int) error {
	p := &printer{w: w, width: math.MaxInt}
	if width > 0 {
		p.width = max(width, 40)
	}
	c.head(p)
	return p.err
}

func (c *Comparison) head(p *printer) {
	p.line("old: %s", c.Old)
	p.line("new: %s", c.New)
	c.differences(p)
	if !c.Once() && !c.Doctor {
		p.line("")
		p.line(NotInterleaved)
	}
}

// differences prints what differs beside the figures.
func (c *Comparison) differences(p *printer) {
	if len(c.Differs) > 0 {
		p.line("")
		p.line("They differ in")
	}
	wide := 0
	for _, d := range c.Differs {
		wide = max(wide, utf8.RuneCountInString(d.What))
	}
	for _, d := range c.Differs {
		if wide+8+utf8.RuneCountInString(d.Old+d.New) <= p.width {
			p.line("  %-*s  %s -> %s", wide, d.What, d.Old, d.New)
			continue
		}
		p.line("  %s", d.What)
		p.line("    old: %s", d.Old)
		p.line("    new: %s", d.New)
	}
	for _, x := range []struct {
		name string
		says []string
	}{{"old", c.OnlyNewSays}, {"new", c.OnlyOldSays}} {
		if len(x.says) == 0 {
			continue
		}
		p.line("")
		for _, l := range console.Wrap(x.name+" does not state: ", "  ", strings.Join(x.says, ", "), min(p.width, 100)) {
			p.line("%s", l)
		}
	}
	if len(c.Unsaid) > 0 {
		p.line("")
		p.line("Left out of both (--redact), and so not compared: %s", strings.Join(c.Unsaid, ", "))
	}
}

// Once says that the figures are single looks.
func (c *Comparison) Once() bool {
	return len(c.Tables) > 0 && len(c.Tables[0].Rows) > 0 && c.Tables[0].Rows[0].Once
}

// Flat says that every table has one row, of the same thing: one table holds
// them all.
func (c *Comparison) Flat() bool {
	for _, t := range c.Tables {
		if len(t.Rows) != 1 || t.Rows[0].Name != c.Tables[0].Rows[0].Name {
			return false
		}
	}
	return len(c.Tables) > 0
}

// figures prints one table with a row for each unit.
func (c *Comparison) figures(p *printer) {
	rows := [][]string{{c.Tables[0].Rows[0].Name, "old", "", "new", "", "difference", ""}}
	for _, t := range c.Tables {
		rows = append(rows, c.row(t.Unit, t, t.Rows[0]))
	}
	p.line("")
	p.table(rows)
}

// row returns the cells of a row.
func (c *Comparison) row(name string, t Table, r Row) []string {
	format := Format(t.Unit)
	test := fmt.Sprintf("(p=%.3f n=%d", r.Test.P, r.Test.N1)
	if r.Test.N1 != r.Test.N2 {
		test += fmt.Sprintf("+%d", r.Test.N2)
	}
	test += ")"
	switch {
	case r.Unknown():
		test = "(" + r.Why() + ")"
	case r.Once:
		test = "(one look each)"
	}
	return []string{name, format(r.Old.Median), c.spread(r, r.Old), format(r.New.Median), c.spread(r, r.New), r.Delta(), test}
}

// unit prints the table of a unit.
func (c *Comparison) unit(p *printer, t Table) {
	better := "less is better"
	if t.Higher {
		better = "more is better"
	}
	rows := [][]string{{t.Unit, "old", "", "new", "", "difference", ""}}
	for _, r := range t.Rows {
		rows = append(rows, c.row(r.Name, t, r))
	}
	if t.Mean > 0 {
		rows = append(rows, []string{"geometric mean", "", "", "", "", unit.Change(t.Mean), ""})
	}
	p.line("")
	p.table(rows)
	p.line("  %s", better)
}

// spread is how well a median is known, or the number of the note that says why
// that is not known.
func (c *Comparison) spread(r Row, s stat.Summary) string {
	if text := s.SpreadText(); text != "" || r.Once {
		return text
	}
	var out []string
	for _, w := range s.Warnings {
		out = append(out, fmt.Sprintf("[%d]", c.Notes.Add(w.Error())))
	}
	return strings.Join(out, "")
}

type printer struct {
	w     io.Writer
	width int
	err   error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		_, p.err = io.WriteString(p.w, console.Line(strings.TrimRight(fmt.Sprintf(format, args...), " "))+"\n")
	}
}

func (p *printer) list(title string, items []string) {
	if len(items) == 0 {
		return
	}
	p.line("")
	p.line("%s:", title)
	for _, i := range items {
		p.line("  %s", i)
	}
}

// table prints rows, the first column flush left, the test too; the first column gives way where the line would be too wide, and is cut
// in the middle, where names of benchmarks differ least.
func (p *printer) table(rows [][]string) {
	left := map[int]bool{0: true, 6: true}
	wide := make([]int, len(rows[0]))
	for _, r := range rows {
		for i, c := range r {
			r[i] = console.Line(c) // as it will be seen
			wide[i] = max(wide[i], console.Width(r[i]))
		}
	}
	rest := 0
	for _, n := range wide[1:] {
		if n > 0 {
			rest += n + 2
		}
	}
	wide[0] = min(wide[0], max(p.width-rest, 16, console.Width(rows[0][0])))
	for _, r := range rows {
		var b strings.Builder
		for i, c := range r {
			if wide[i] == 0 {
				continue
			}
			if i > 0 {
				b.WriteString("  ")
			}
			c = shorten(c, wide[i])
			pad := strings.Repeat(" ", wide[i]-console.Width(c))
			if left[i] {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		p.line("%s", b.String())
	}
}

func shorten(s string, n int) string {
	r := []rune(s)
	if len(r) <= n {
		return s
	}
	head := (n - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(n-1-head):])
}
