package compare

import "github.com/foliomem/folio/cmd/internal/base/figure"

// Format returns how values of a unit are printed.
func Format(name string) func(float64) string { return figure.KindOfUnit(name).Format }

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

// Once says that the figures are single looks.
func (c *Comparison) Once() bool {
	return len(c.Tables) > 0 && len(c.Tables[0].Rows) > 0 && c.Tables[0].Rows[0].Once
}
