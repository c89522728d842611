package document

import (
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// Experiments lists those of the lab: what each asks, or also what is known of it and its arms.
func Experiments(all []result.ListedExperiment, arms bool) *Document {
	s := &Section{Kicker: "folio lab", Heading: "experiments"}
	if !arms {
		t := &Table{Head: []Column{{Label: "experiment"}, {Label: "question"}}, Wrap: true}
		for i, e := range all {
			if e.Family != "" && (i == 0 || all[i-1].Family != e.Family) {
				t.Rows = append(t.Rows, Row{Cells: []Cell{code(e.Family), plain("all experiments that begin with " + e.Family + "-")}})
			}
			t.Rows = append(t.Rows, Row{Cells: []Cell{code(e.Name), plain(e.Question)}})
		}
		s.Blocks = []*Block{{Tables: []*Table{t}, Words: []string{"folio lab list NAME lists its arms, folio lab NAME runs it."}}}
		return (&Document{Sections: []*Section{s}}).finish()
	}
	for _, e := range all {
		b := &Block{Title: e.Name + ": " + e.Question, Words: []string{"source: " + e.Source,
			formatf("memory: %s, quick %s", unit.Exact(e.Size), unit.Exact(e.Quick))}}
		if e.Apart {
			b.Words = append(b.Words, "only when it is named: it builds programs with the go command")
		}
		t := &Table{Head: []Column{{Label: "arm"}, {Label: "what it does"}}}
		for _, a := range e.Arms {
			t.Rows = append(t.Rows, Row{Cells: []Cell{code(a[0]), plain(a[1])}})
		}
		b.Tables = []*Table{t}
		s.Blocks = append(s.Blocks, b)
	}
	return (&Document{Sections: []*Section{s}}).finish()
}

// Checks lists those of folio doctor: what each finds, and what it reads.
func Checks(rules []result.Rule) *Document {
	s := &Section{Kicker: "folio doctor", Heading: "checks"}
	var b *Block
	for i, r := range rules {
		if i == 0 || r.Scope != rules[i-1].Scope {
			b = &Block{Title: scopeTitle[r.Scope], Tables: []*Table{{Head: []Column{{Label: "check"}, {Label: "finds"}, {Label: "reads"}}, Wrap: true}}}
			s.Blocks = append(s.Blocks, b)
		}
		b.Tables[0].Rows = append(b.Tables[0].Rows, Row{Cells: []Cell{plain(formatf("%s: %s", r.ID, r.Severity)), plain(r.Title), plain(strings.Join(r.Reads, ", "))}})
	}
	return (&Document{Sections: []*Section{s}}).finish()
}

var scopeTitle = map[result.Scope]string{
	result.ScopeHost: "The machine", result.ScopeContainer: "The container (memory cgroup)",
	result.ScopeProcess: "A process", result.ScopeGo: "A Go program",
}
