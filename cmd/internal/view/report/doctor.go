package report

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/unit"
)

// countChecks is how many checks came to a state.
func countChecks(f *result.Doctor, s result.State) (n int) {
	for _, c := range f.Checks {
		if c.State == s {
			n++
		}
	}
	return n
}

// DoctorSum says how many checks there were, with their outcomes, and how those are permitted
// that were not.
func DoctorSum(f *result.Doctor) string {
	text := unit.Plural(countChecks(f, result.CheckFound)+countChecks(f, result.CheckClean), "check") + ": "
	if len(f.Findings) == 0 {
		text += "nothing found"
	} else {
		var parts []string
		for _, s := range []result.Severity{result.SeverityProblem, result.SeverityWarning, result.SeverityNote} {
			n := 0
			for _, h := range f.Findings {
				if h.Severity == s {
					n++
				}
			}
			if n > 0 {
				parts = append(parts, unit.Plural(n, string(s)))
			}
		}
		text += strings.Join(parts, ", ")
	}
	denied, why := f.Denied()
	if n := countChecks(f, result.CheckNotChecked) - denied; n > 0 {
		text += fmt.Sprintf("; %d could not be checked", n)
	}
	if n := countChecks(f, result.CheckNotAsked); n > 0 {
		text += fmt.Sprintf("; %d skipped", n)
	}
	if n := countChecks(f, result.CheckDoesNotApply); n > 0 {
		if f.Process != nil {
			text += fmt.Sprintf("; %d are for Go programs", n)
		} else {
			text += fmt.Sprintf("; %d are for a process: folio doctor PID", n)
		}
	}
	return strings.TrimSpace(text + ". " + why)
}
