package document

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/test/resulttest"
)

// listed says whether a value, or the text of it, is in a cell of the tables.
func listed(tables []*Table, v float64, text string) bool {
	return slices.ContainsFunc(tables, func(t *Table) bool {
		return slices.ContainsFunc(t.Rows, func(r Row) bool {
			return slices.ContainsFunc(r.Cells, func(c Cell) bool {
				return text != "" && c.Text == text || c.Sort != nil && math.Abs(*c.Sort-v) <= 1e-9*math.Abs(v)
			})
		})
	})
}

func (s *Section) tables() (out []*Table) {
	for _, b := range s.Blocks {
		out = append(out, b.AllTables()...)
	}
	return out
}

// A chart whose tables do not have all of its figures says so to those who have no script;
// the others have each figure in a table of the section.
func TestFiguresAreListed(t *testing.T) {
	page := func(files ...any) *Document {
		var results []*result.Result
		for i, f := range files {
			results = append(results, resulttest.Read(t, fmt.Sprintf("file%d.json", i), f))
		}
		p := New(results...)
		return p
	}
	kinds := make(map[string]int)
	for name, p := range map[string]*Document{
		"tune": page(resulttest.Tune(8, "./prog")), "search": page(resulttest.Search(20, 12)), "run": page(resulttest.Run(6)), "ab": page(resulttest.AB()), "lab": page(resulttest.Lab()),
		"inspect": page(resulttest.Inspect(inspect.GoHeap, "prog")), "list": page(resulttest.List("prog")), "suggest": page(resulttest.Suggest("prog")), "charge": page(resulttest.Charge("prog")),
		"tunes": page(resulttest.Tune(8, "./prog"), resulttest.Tune(6, "./prog")), "runs": page(resulttest.Run(6), resulttest.Run(5)), "labs": page(resulttest.Lab(), resulttest.Lab()),
	} {
		for _, s := range p.Sections {
			for _, b := range s.Blocks {
				for _, c := range b.AllCharts() {
					kinds[formatf("%s, partly %t", c.Kind, c.Partly)]++
					if c.Partly || c.Below {
						continue
					}
					if c.Runs != nil || c.From != nil {
						t.Errorf("%s: %s: every run, and not marked as more than the table", name, c.Title)
					}
					for _, series := range c.Series {
						for _, p := range series.P {
							v := p.Y
							if c.Kind != XY {
								v = p.X
							}
							if series.Mute || listed(s.tables(), v, p.Text) {
								continue
							}
							t.Errorf("%s: %s: %s %s: %v is in no table", name, c.Title, series.Name, p.Name, v)
						}
					}
				}
			}
		}
	}
	for _, want := range []string{"xy, partly true", "xy, partly false", "bars, partly false", "stack, partly false", "strip, partly true", "order, partly true"} {
		if kinds[want] == 0 {
			t.Errorf("no chart is %s", want)
		}
	}
}
