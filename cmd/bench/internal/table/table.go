// Package table writes the tables of the benchmarks, in Markdown, as docs have them.
package table

import (
	"fmt"
	"io"
	"strings"
)

// A Table is written row by row: a benchmark that is ended shows what it has.
type Table struct {
	w       io.Writer
	columns int
}

// New writes the heading of a table.
func New(w io.Writer, columns ...string) *Table {
	t := &Table{w, len(columns)}
	t.Row(columns...)
	fmt.Fprintf(w, "|%s\n", strings.Repeat("---|", t.columns))
	return t
}

// Row writes a row. It panics if the table has not as many columns.
func (t *Table) Row(cells ...string) {
	if len(cells) != t.columns {
		panic(fmt.Sprintf("%d cells for %d columns: %q", len(cells), t.columns, cells))
	}
	fmt.Fprintf(t.w, "| %s |\n", strings.Join(cells, " | "))
}

// Rowf formats a row, whose cells are separated by " | ".
func (t *Table) Rowf(format string, args ...any) {
	t.Row(strings.Split(fmt.Sprintf(format, args...), " | ")...)
}
