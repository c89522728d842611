package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
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

// DoctorSum says how many checks there were, and what became of them.
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
	if n := countChecks(f, result.CheckNotChecked); n > 0 {
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
	return text + "."
}

// DoctorList prints what checks there are: what each finds, and what it reads.
func DoctorList(w io.Writer, rules []result.Rule, width int) error {
	p := &printer{w: w}
	var last result.Scope
	for _, r := range rules {
		if r.Scope != last {
			if last != "" {
				p.line("")
			}
			p.line("%s", scopeTitle[r.Scope])
			last = r.Scope
		}
		p.line("  %-26s %s: %s", r.ID, r.Severity, r.Title)
		for _, l := range console.Wrap(strings.Repeat(" ", 29)+"reads ", strings.Repeat(" ", 31), strings.Join(r.Reads, ", "), max(width, 60)) {
			p.line("%s", l)
		}
	}
	return p.err
}

var scopeTitle = map[result.Scope]string{
	result.ScopeHost: "The machine", result.ScopeContainer: "The container (memory cgroup)",
	result.ScopeProcess: "A process", result.ScopeGo: "A Go program",
}
