package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/host"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/unit"
)

// Doctor prints each hazard, the worst first, with what was read, what it means,
// how to fix it and where to read on; what could not be checked; and how many
// checks there were. Width is in columns; 0 is 80.
func Doctor(w io.Writer, f *result.Doctor, width int) error {
	p := &printer{w: w}
	if width <= 0 {
		width = 80
	}
	width = max(width, 40)
	say := func(first, rest, text string) {
		for _, l := range Wrap(first, rest, text, width) {
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
		if c.State != diagnose.NotChecked {
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
func MachineName(h host.Info) string {
	parts := []string{h.OS + " " + h.Kernel, unit.Of(h.CPUs, "CPU")}
	if h.CPU != "" {
		parts[1] += " " + h.CPU
	}
	if h.THPEnabled != nil {
		parts = append(parts, "THP "+*h.THPEnabled)
	}
	return strings.Join(parts, ", ")
}

// countChecks is how many checks came to a state.
func countChecks(f *result.Doctor, s diagnose.State) (n int) {
	for _, c := range f.Checks {
		if c.State == s {
			n++
		}
	}
	return n
}

// doctorSum says how many checks there were, and what became of them.
func doctorSum(f *result.Doctor) string {
	text := unit.Of(countChecks(f, diagnose.Found)+countChecks(f, diagnose.Clean), "check") + ": "
	if len(f.Findings) == 0 {
		text += "nothing found"
	} else {
		var parts []string
		for _, s := range []diagnose.Severity{diagnose.Problem, diagnose.Warning, diagnose.Note} {
			n := 0
			for _, h := range f.Findings {
				if h.Severity == s {
					n++
				}
			}
			if n > 0 {
				parts = append(parts, unit.Of(n, string(s)))
			}
		}
		text += strings.Join(parts, ", ")
	}
	if n := countChecks(f, diagnose.NotChecked); n > 0 {
		text += fmt.Sprintf("; %d could not be checked", n)
	}
	if n := countChecks(f, diagnose.NotAsked); n > 0 {
		text += fmt.Sprintf("; %d skipped", n)
	}
	if n := countChecks(f, diagnose.DoesNotApply); n > 0 {
		if f.Process != nil {
			text += fmt.Sprintf("; %d are for Go programs", n)
		} else {
			text += fmt.Sprintf("; %d are for a process: folio doctor PID", n)
		}
	}
	return text + "."
}

// Wrap breaks text into lines of at most width columns, the first behind first,
// the others behind rest. Words are never broken.
func Wrap(first, rest, text string, width int) []string {
	var out []string
	line, empty := first, true
	for _, word := range strings.Fields(console.Escape(text)) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			out = append(out, strings.TrimRight(line, " "))
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return append(out, strings.TrimRight(line, " "))
}

// DoctorList prints what checks there are: what each finds, and what it reads.
func DoctorList(w io.Writer, width int) error {
	p := &printer{w: w}
	var last diagnose.Scope
	for _, r := range diagnose.Rules() {
		if r.Scope != last {
			if last != "" {
				p.line("")
			}
			p.line("%s", scopeTitle[r.Scope])
			last = r.Scope
		}
		p.line("  %-26s %s: %s", r.ID, r.Severity, r.Title)
		for _, l := range Wrap(strings.Repeat(" ", 29)+"reads ", strings.Repeat(" ", 31), strings.Join(r.Reads, ", "), max(width, 60)) {
			p.line("%s", l)
		}
	}
	return p.err
}

var scopeTitle = map[diagnose.Scope]string{
	diagnose.Host: "The machine", diagnose.Container: "The container (memory cgroup)",
	diagnose.OfProcess: "A process", diagnose.OfGo: "A Go program",
}
