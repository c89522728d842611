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
		both := beside(results, opts)
		p.Title = both.Kicker + ": " + both.Heading
		p.Sections = append([]*Section{both}, p.Sections...)
	} else {
		p.Title = p.Sections[0].Kicker + ": " + p.Sections[0].Heading
	}
	return p.finish()
}

const foot = "Made by folio. It needs no network: script, style and data are in this file."

// Text returns the document of a result that was not saved, without its samples.
func Text(of result.Kind) *Document {
	d := &Document{Sections: []*Section{kindSection(of)}}
	return d.finish()
}

// Loads returns the document of several runs of one load.
func Loads(m *result.LoadMerged) *Document {
	d := &Document{Sections: []*Section{loadsSection(m)}}
	return d.finish()
}

func section(r *result.Result) *Section {
	s := kindSection(r.Of)
	s.Raw = &Raw{Name: r.Name, File: fileName(r.Name), JSON: r.JSON, Samples: r.Samples(), Holds: holds(r)}
	return s
}

func kindSection(of result.Kind) (s *Section) {
	switch f := of.(type) {
	case *result.Lab:
		s = labSection(f)
		s.failed(f.Error, labAgain(f)...)
	case *result.Inspect:
		s = inspectSection(f)
	case *result.Doctor:
		s = doctorSection(f)
	case *result.AB:
		s = abSection(f)
		s.failed(f.Error, abAgain(f)...)
	case *result.Suggest:
		s = suggestSection(f)
	case *result.Collapse:
		s = collapseSection(f)
	case *result.Load:
		s = loadSection(f)
	case *result.Sites:
		s = sitesSection(f)
	case *result.Charge:
		s = chargeSection(f)
	case *result.File:
		s = fileSection(f)
		s.failed(f.Error, again(f)...)
	}
	r := &result.Result{Of: of}
	if h := r.Host(); h != nil {
		s.Where = machine(*h)
	}
	s.Where = append(s.Where, r.Header().Created.UTC().Format("2 Jan 2006 15:04 UTC"))
	if r.Header().Redacted {
		s.About = append(s.About, result.RedactedText)
	}
	return s
}

// fileSection is that of run, tune or run --attach.
func fileSection(f *result.File) *Section {
	switch {
	case len(f.Arms) == 0:
		return &Section{Kicker: "folio " + f.Kind, Heading: result.ShellLine(f.Program.Command), Code: true, About: about(f), Notes: f.Notes,
			Answers: []Answer{{Main: true, Text: "Nothing was measured."}}}
	case f.Kind == result.KindTune:
		return tuneSection(f)
	}
	return runSection(f)
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
	return "This file holds: " + join(list) + ". To leave them out, run it again with --redact"
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
