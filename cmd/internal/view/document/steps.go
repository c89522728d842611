package document

import (
	"github.com/foliomem/folio/cmd/internal/view/report"
	"github.com/foliomem/folio/internal/base/unit"
)

// steps says what each build gives alone, and all of them together.
func (t *tuned) steps() *Block {
	rows := report.Steps(t.file)
	if len(rows) == 0 {
		return nil
	}
	tb := &Table{Caption: "In the final, each compared with the default", Head: []Column{{Label: "step"}, {Label: t.of.label() + " vs default"}, {Label: "recommended"}}}
	if s := t.file.BuildSeconds; s != nil {
		tb.Caption += formatf("; the builds took %s, which is not part of the search", unit.ElapsedSeconds(*s))
	}
	for _, r := range rows {
		gives, in := plain(r.Gives), ""
		if r.Ratio != nil {
			gives = num(r.Gives, *r.Ratio)
		}
		if r.In {
			in = "yes"
		}
		tb.Rows = append(tb.Rows, Row{Cells: []Cell{code(r.What), gives, plain(in)}})
	}
	return &Block{Key: true, Title: "What each step gives alone, and together", Tables: []*Table{tb}}
}
