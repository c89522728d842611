package document

import (
	"fmt"
	"strings"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/compare"
	"github.com/foliomem/folio/internal/base/unit"
)

// New returns the document of one result, or of several side by side.
func New(results ...*result.Result) *Document { return NewOf(nil, results...) }

// NewOf is New with options of the comparison; nil means the default.
func NewOf(opts *compare.Options, results ...*result.Result) *Document {
	p := &Document{Nav: len(results) > 1, Foot: foot}
	for _, r := range results {
		p.Sections = append(p.Sections, section(r))
	}
	if len(results) > 1 {
		p.Title = fmt.Sprintf("folio: %d results", len(results))
		p.Sections = append([]*Section{beside(results, opts)}, p.Sections...)
	} else {
		p.Title = p.Sections[0].Kicker + ": " + p.Sections[0].Heading
	}
	return p.finish()
}

const foot = "Made by folio. This file needs no network: script, style and data are in it."

func section(r *result.Result) *Section {
	var s *Section
	switch {
	case r.Lab != nil:
		s = labSection(r.Lab)
	case r.Inspect != nil:
		s = inspectSection(r.Inspect)
	case r.Doctor != nil:
		s = doctorSection(r.Doctor)
	case r.AB != nil:
		s = abSection(r.AB)
	case r.Suggest != nil:
		s = suggestSection(r.Suggest)
	case r.Collapse != nil:
		s = &Section{Kicker: "folio collapse", Heading: formatf("process %d", r.Collapse.PID), Notes: r.Collapse.Notes,
			Answers: []Answer{{Main: true, Text: "There is no page of a collapse: folio report shows it as text."}}}
	case r.Load != nil:
		s = &Section{Kicker: "folio load", Heading: strings.Join(r.Load.Settings.URLs, " "), Notes: r.Load.Notes,
			Answers: []Answer{{Main: true, Text: "There is no page of a load: folio report shows it as text."}}}
	case r.Sites != nil:
		s = &Section{Kicker: "folio " + r.Sites.Kind, Heading: "Who keeps the memory", Notes: r.Sites.Notes,
			Answers: []Answer{{Main: true, Text: "There is no page of sites: folio report shows them as text."}}}
	case len(r.Program.Arms) == 0:
		f := r.Program
		s = &Section{Kicker: "folio " + f.Kind, Heading: result.ShellLine(f.Program.Command), Code: true, About: about(f), Notes: f.Notes,
			Answers: []Answer{{Main: true, Text: "Nothing was measured."}}}
	case r.Program.Kind == "tune":
		s = tuneSection(r.Program)
	default:
		s = runSection(r.Program)
	}
	switch {
	case r.Program != nil:
		s.failed(r.Program.Error, again(r.Program)...)
	case r.Lab != nil:
		s.failed(r.Lab.Error, labAgain(r.Lab)...)
	case r.AB != nil:
		s.failed(r.AB.Error, abAgain(r.AB)...)
	}
	if r.Header().Redacted {
		s.About = append(s.About, result.RedactedText)
	}
	s.Raw = &Raw{Name: r.Name, File: fileName(r.Name), JSON: r.JSON, Samples: r.Samples(), Holds: holds(r)}
	return s
}

// holds says in a line what of a result somebody may not want to pass on.
func holds(r *result.Result) string {
	list := r.Holds()
	switch {
	case r.Header().Redacted && len(list) == 0:
		return upper(result.RedactedText) + "."
	case len(list) == 0:
		return ""
	}
	return "This file holds: " + join(list) + ". Without them: folio report --redact FILE.json --html PAGE.html"
}

// fileName makes the name of a JSON file of that of a result, which may be a path.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\ :`, r) {
			return '-'
		}
		return r
	}, name)
	return strings.TrimLeft(strings.TrimSuffix(name, ".json"), "-.") + ".json"
}

// limits describes those that the runs had.
func limits(l *result.Limits) []string {
	if l == nil {
		return nil
	}
	return []string{"limits: " + l.String()}
}

// machine describes a host in a few words each.
func machine(h result.Host) []string {
	var out []string
	if h.Name != "" {
		out = append(out, "host "+h.Name)
	}
	out = append(out, h.OS+" "+h.Kernel, fmt.Sprintf("%d CPUs %s", h.CPUs, h.CPU))
	if m := h.MemoryBytes; m != nil {
		out = append(out, unit.Size(*m)+" memory")
	}
	if m := h.CgroupLimitBytes; m != nil {
		out = append(out, unit.Size(*m)+" cgroup limit")
	}
	if h.THPEnabled != nil {
		out = append(out, "THP "+*h.THPEnabled)
	}
	return out
}
