package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/foliomem/folio/internal/base/console"
)

// A table is columns of text, flush right but for those named in left.
type table struct {
	left map[int]bool
	rows [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// write prints the table, each line behind indent. Columns that are empty in
// every row take no room.
func (t *table) write(w io.Writer, indent string) error {
	var width []int
	rows := make([][]string, len(t.rows)) // as they will be seen
	for n, r := range t.rows {
		for i, c := range r {
			if i == len(width) {
				width = append(width, 0)
			}
			c = console.Line(c)
			rows[n] = append(rows[n], c)
			width[i] = max(width[i], console.Width(c))
		}
	}
	for _, r := range rows {
		var b strings.Builder
		b.WriteString(indent)
		for i, c := range r {
			if width[i] == 0 {
				continue
			}
			pad := strings.Repeat(" ", width[i]-console.Width(c))
			if b.Len() > len(indent) {
				b.WriteString("  ")
			}
			if t.left[i] {
				b.WriteString(c + pad)
			} else {
				b.WriteString(pad + c)
			}
		}
		if _, err := fmt.Fprintln(w, strings.TrimRight(b.String(), " ")); err != nil {
			return err
		}
	}
	return nil
}
