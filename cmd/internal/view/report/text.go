package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// TextOptions say how a text is laid out.
type TextOptions struct {
	// Width is how many columns tables, bars and plots may take; 0 when that is not known.
	Width int
	// Brief is the answer of a run alone.
	Brief bool
	// All lists the settings of a search that are not in its final, too.
	All bool
}

// Program prints a result of run, tune or run --attach. It is made of the result alone: of
// a saved one it is what the command itself showed, at the same width.
func Program(w io.Writer, f *result.File, o TextOptions) error {
	if err := sayRedacted(w, f.Header); err != nil {
		return err
	}
	switch {
	case !slices.ContainsFunc(f.Arms, func(a result.Arm) bool { return len(a.Samples) > 0 }):
		p := &printer{w: w}
		p.lines(Title(f))
		p.line("Nothing was measured.")
		p.notes(notesOf(f))
		return p.err
	case f.Kind == result.KindTune:
		return (&Tune{File: f, Notes: notesOf(f), Width: o.Width, All: o.All}).Text(w)
	}
	if o.Brief {
		return runBrief(f, w, o.Width)
	}
	return runText(f, w, o.Width)
}

// sayRedacted says first that a result is redacted.
func sayRedacted(w io.Writer, h result.Header) error {
	if !h.Redacted {
		return nil
	}
	_, err := fmt.Fprintln(w, result.RedactedText)
	return err
}

// Title says what was measured, and where.
func Title(f *result.File) string {
	first := "$ " + result.ShellLine(f.Program.Command)
	if b := f.Program.Build; b != nil {
		first += fmt.Sprintf("   built from %s with %s", b.Package, patchNames(b.Patches))
	}
	if f.Program.Load != "" {
		first += "   under load: " + f.Program.Load
	}
	if f.Program.Requests != nil {
		first += "   under load: " + Requests(f.Program.Requests)
	}
	var where []string
	if v := f.Program.GoVersion; v != nil {
		where = append(where, *v)
	}
	where = append(where, f.Host.OS+" "+f.Host.Kernel, unit.Plural(f.Host.CPUs, "CPU"))
	if f.Host.THPEnabled != nil {
		where = append(where, "THP "+*f.Host.THPEnabled)
	}
	if l := f.Program.Limits; l != nil {
		where = append(where, "limits: "+l.String())
	}
	return console.Line(first) + "\n" + console.Line(strings.Join(where, ", "))
}

// patchNames lists patches, which are name@hash, by their names.
func patchNames(patches []string) string {
	var out []string
	for _, p := range patches {
		name, _, _ := strings.Cut(p, "@")
		out = append(out, name)
	}
	return strings.Join(out, ", ")
}

// SetNotes completes the notes, so that the result has all that its texts print: first
// are what the command noted, then what explains figures in the text, then what was noted
// before.
func SetNotes(f *result.File, first []string) {
	notes := &stat.Notes{}
	for _, n := range first {
		notes.Add(n)
	}
	switch {
	case len(f.Arms) == 0 || len(f.Arms[0].Samples) == 0:
	case f.Kind == result.KindTune:
		t := &Tune{File: f, Notes: notes}
		if compared(f) && slices.ContainsFunc(t.columns(), func(c column) bool { return c.head == byRuntime }) {
			notes.Add(byRuntime + ": " + runtimeIs)
		}
	default:
		runFigures(f, notes)
	}
	for _, n := range f.Notes {
		notes.Add(n)
	}
	f.Notes = notes.Texts()
}
