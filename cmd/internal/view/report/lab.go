package report

import (
	"io"

	"github.com/foliomem/folio/internal/base/unit"
)

// A ListedExperiment is what the list of experiments says of one.
type ListedExperiment struct {
	Name, Question, Source string
	Size, Quick            uint64 // bytes
	Apart                  bool   // only when it is named
	Arms                   [][2]string
}

// LabList prints what experiments there are: what each asks, what is known of it, and its
// arms on this machine.
func LabList(w io.Writer, list []ListedExperiment) error {
	p := &printer{w: w}
	for i, e := range list {
		if i > 0 {
			p.line("")
		}
		p.line("%s: %s", e.Name, e.Question)
		p.line("  source: %s", e.Source)
		p.line("  memory: %s, quick %s", unit.Exact(e.Size), unit.Exact(e.Quick))
		if e.Apart {
			p.line("  only when it is named: it builds programs with the go command")
		}
		t := &table{left: map[int]bool{0: true, 1: true}}
		for _, a := range e.Arms {
			t.add(a[0], a[1])
		}
		if p.err == nil {
			p.err = t.write(w, "  ")
		}
	}
	return p.err
}
