package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/foliomem/folio/internal/console"
	"github.com/foliomem/folio/internal/diagnose"
	"github.com/foliomem/folio/internal/unit"
)

// A Doctor is what folio doctor shows.
type Doctor struct {
	Title     []string
	Diagnosis diagnose.Diagnosis
	Width     int  // columns; 0 is 80
	Process   bool // one was named
}

// Text prints each hazard, the worst first, with what was read, what it means,
// how to fix it and where to read on; what could not be checked; and how many
// checks there were.
func (d *Doctor) Text(w io.Writer) error {
	p := &printer{w: w}
	width := d.Width
	if width <= 0 {
		width = 80
	}
	width = max(width, 40)
	say := func(first, rest, text string) {
		for _, l := range Wrap(first, rest, text, width) {
			p.line("%s", l)
		}
	}
	for _, t := range d.Title {
		say("", "  ", t)
	}
	for _, h := range d.Diagnosis.Hazards {
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
	for _, o := range d.Diagnosis.Outcomes {
		if o.State != diagnose.NotChecked {
			continue
		}
		if unknown[o.Why] == nil {
			reasons = append(reasons, o.Why)
		}
		unknown[o.Why] = append(unknown[o.Why], o.Rule.ID)
	}
	if len(reasons) > 0 {
		p.line("")
	}
	for _, why := range reasons {
		say("not checked: ", "  ", strings.Join(unknown[why], ", ")+": "+why)
	}
	p.line("")
	say("", "  ", d.sum())
	return p.err
}

// sum says how many checks there were, and what became of them.
func (d *Doctor) sum() string {
	g := d.Diagnosis
	text := unit.Of(g.Count(diagnose.Found)+g.Count(diagnose.Clean), "check") + ": "
	if len(g.Hazards) == 0 {
		text += "nothing found"
	} else {
		var parts []string
		for _, s := range []diagnose.Severity{diagnose.Problem, diagnose.Warning, diagnose.Note} {
			n := 0
			for _, h := range g.Hazards {
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
	if n := g.Count(diagnose.NotChecked); n > 0 {
		text += fmt.Sprintf("; %d could not be checked", n)
	}
	if n := g.Count(diagnose.NotAsked); n > 0 {
		text += fmt.Sprintf("; %d skipped", n)
	}
	if n := g.Count(diagnose.DoesNotApply); n > 0 {
		if d.Process {
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
