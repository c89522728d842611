package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// Doctor prints each hazard, the worst first, with what was read, what it means,
// how to fix it and where to read on; what could not be checked; and how many
// checks there were. Width is in columns; 0 is 80.
func Doctor(w io.Writer, f *result.Doctor, width int) error {
	if err := sayRedacted(w, f.Header); err != nil {
		return err
	}
	p := &printer{w: w}
	if width <= 0 {
		width = 80
	}
	width = max(width, 40)
	say := func(first, rest, text string) {
		for _, l := range console.Wrap(first, rest, text, width) {
			p.line("%s", l)
		}
	}
	for _, t := range doctorTitle(f) {
		say("", "  ", t)
	}
	for _, h := range f.Findings {
		p.line("")
		say("", "  ", fmt.Sprintf("%s: %s [%s]", h.Severity, h.What, h.Rule))
		for _, e := range h.Evidence {
			say("  read  ", "        ", e.From+": "+e.Says)
		}
		say("        ", "        ", h.Means)
		for i, s := range h.Fix {
			label := "        "
			if i == 0 {
				label = "  fix   "
			}
			say(label, "        ", s.Do)
			if s.Code != "" {
				p.line("          %s", s.Code) // never broken: it is to be pasted
			}
		}
		p.line("  see   %s", h.Reference)
	}
	// Often one reason keeps several checks from knowing.
	var reasons []string
	unknown := make(map[string][]string)
	for _, c := range f.Checks {
		if c.State != result.CheckNotChecked {
			continue
		}
		why := ""
		if c.Why != nil {
			why = *c.Why
		}
		if unknown[why] == nil {
			reasons = append(reasons, why)
		}
		unknown[why] = append(unknown[why], c.ID)
	}
	if len(reasons) > 0 {
		p.line("")
	}
	for _, why := range reasons {
		say("not checked: ", "  ", strings.Join(unknown[why], ", ")+": "+why)
	}
	p.line("")
	say("", "  ", doctorSum(f))
	return p.err
}

// doctorTitle says what was looked at.
func doctorTitle(f *result.Doctor) []string {
	h := f.Host
	if f.THP != "" {
		h.THPEnabled = nil // said at length
	}
	out := []string{"folio doctor: " + MachineName(h)}
	if p := f.Process; p != nil {
		what := fmt.Sprintf("process %d: %s", p.PID, p.Name)
		if p.GoVersion != nil {
			what += ", " + *p.GoVersion
		}
		out = append(out, what)
	}
	if f.THP != "" {
		out = append(out, f.THP)
	}
	return out
}

// MachineName describes a machine in a line.
func MachineName(h result.Host) string {
	parts := []string{h.OS + " " + h.Kernel, unit.Plural(h.CPUs, "CPU")}
	if h.CPU != "" {
		parts[1] += " " + h.CPU
	}
	if h.THPEnabled != nil {
		parts = append(parts, "THP "+*h.THPEnabled)
	}
	return strings.Join(parts, ", ")
}

// countChecks is how many checks came to a state.
func countChecks(f *result.Doctor, s result.State) (n int) {
	for _, c := range f.Checks {
		if c.State == s {
			n++
		}
	}
	return n
}

// doctorSum says how many checks there were, and what became of them.
func doctorSum(f *result.Doctor) string {
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
