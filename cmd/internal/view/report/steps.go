package report

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// A StepRow is what one step of a search of builds gives, in words.
type StepRow struct {
	In    bool // part of what is recommended
	What  string
	Gives string
	Ratio *float64 // where that is known
}

// Together heads the last step: all that is recommended.
const Together = "together"

// Steps returns what each build gives alone, and what is recommended together; nil where no
// builds were searched.
func Steps(f *result.File) []StepRow {
	if f.Answer == nil || len(f.Answer.Steps) == 0 || len(f.Recommendations) == 0 {
		return nil
	}
	var out []StepRow
	row := func(what string, in bool, e *result.Estimate) StepRow {
		r := StepRow{In: in, What: what, Gives: Change(e)}
		if e != nil {
			r.Ratio = &e.Ratio
		} else {
			r.Gives = "not known"
		}
		return r
	}
	in := 0
	for _, s := range f.Answer.Steps {
		r := row(s.What, s.In, s.Alone)
		if s.Failed != "" {
			r.Gives = "failed: " + s.Failed
		}
		if s.In {
			in++
		}
		out = append(out, r)
	}
	if main := f.Recommendations[0]; in > 1 {
		out = append(out, row(Together, true, main.Ratio))
	}
	return out
}

// steps prints what each build gives.
func (t *Tune) steps(p *printer) {
	rows := Steps(t.File)
	if len(rows) == 0 {
		return
	}
	tb := &table{left: map[int]bool{0: true, 1: true, 2: true}}
	tb.add("", "each alone", t.label()+" vs default [95%]")
	for _, r := range rows {
		mark := ""
		if r.In {
			mark = ">"
		}
		tb.add(mark, r.What, r.Gives)
	}
	p.line("")
	if p.err == nil {
		p.err = tb.write(p.w, "")
	}
	if s := t.File.BuildSeconds; s != nil {
		p.line("builds took %s, which is not part of the search", unit.ElapsedSeconds(*s))
	}
}

// setText says in a sentence what to set, and how to build.
func setText(s result.Setting, name string) string {
	if s.Build == nil {
		return "Set " + name + "."
	}
	rest := s.Runtime()
	if rest.IsZero() {
		return fmt.Sprintf("Build with %s.", s.Build)
	}
	return fmt.Sprintf("Build with %s, and set %s.", s.Build, rest)
}
