package document

import (
	"slices"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/compare"
)

// InTurn returns the document of results one after the other: before them what differs beside
// their figures, after them what several runs of one load found together.
func InTurn(results []*result.Result) *Document {
	d := &Document{}
	if comparable(results) {
		for _, r := range results[1:] {
			d.Sections = append(d.Sections, differencesSection(results[0], r))
		}
	}
	for _, r := range results {
		s := kindSection(r.Of)
		if len(results) > 1 {
			s.From = r.Name
		}
		d.Sections = append(d.Sections, s)
	}
	m, err := result.MergeLoads(results)
	switch {
	case err != nil:
		d.Sections = append(d.Sections, &Section{Kicker: "folio load", Heading: "together: " + err.Error()})
	case m != nil:
		d.Sections = append(d.Sections, Loads(m).Sections...)
	}
	return d.finish()
}

// comparable says that results have figures that a reader would hold against one another.
func comparable(results []*result.Result) bool {
	first := results[0].Header().Kind
	same := func(r *result.Result) bool {
		switch r.Of.(type) {
		case *result.AB, *result.Suggest, *result.Collapse, *result.Load, *result.Sites:
			return false
		}
		return r.Header().Kind == first
	}
	return len(results) > 1 && !slices.ContainsFunc(results, func(r *result.Result) bool { return !same(r) })
}

// differencesSection is what of two results must be known before their figures are read: what
// differs beside them, and that no verdict is possible.
func differencesSection(a, b *result.Result) *Section {
	s := &Section{Kicker: "folio compare", Heading: b.Name + " against " + a.Name}
	c, err := compared(a, b, nil)
	if err != nil {
		s.Answers = []Answer{{Text: "Not compared: " + err.Error() + "."}}
		return s
	}
	if t := differences(c, ""); t != nil {
		s.First = []*Table{t}
	}
	if !c.Once() && !c.Doctor {
		s.Answers = []Answer{{Text: compare.NotInterleaved}}
	}
	if len(c.Unsaid) > 0 {
		s.Notes = []string{leftOut(c)}
	}
	return s
}
