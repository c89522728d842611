package html

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/result"
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
		out = append(out, b.allTables()...)
	}
	return out
}

// A chart whose tables do not have all of its figures says so to those who have no script;
// the others have each figure in a table of the section.
func TestFiguresAreListed(t *testing.T) {
	page := func(files ...any) *Page {
		var results []*result.Result
		for i, f := range files {
			results = append(results, read(t, fmt.Sprintf("file%d.json", i), f))
		}
		p := NewPage(results...)
		p.finish()
		return p
	}
	kinds := make(map[string]int)
	for name, p := range map[string]*Page{
		"tune": page(tuneFile(8, "./prog")), "search": page(searchFile(20, 12)), "run": page(runFile(6)), "ab": page(abFile()), "lab": page(labFile()),
		"inspect": page(inspectFile(inspect.GoHeap, "prog")), "list": page(listFile("prog")), "suggest": page(suggestFile("prog")),
		"tunes": page(tuneFile(8, "./prog"), tuneFile(6, "./prog")), "runs": page(runFile(6), runFile(5)), "labs": page(labFile(), labFile()),
	} {
		for _, s := range p.Sections {
			for _, b := range s.Blocks {
				for _, c := range b.allCharts() {
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
