package report

import (
	"fmt"

	"github.com/foliomem/folio/cmd/internal/result"
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
