package project

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/base/unit"
)

// Apply shows the plan, asks, and makes the changes. asked is false where nobody can be asked:
// nothing is written then.
func (p Plan) Apply(out *console.Printer, ask func(question string) (yes, asked bool)) error {
	for _, note := range p.Notes {
		_ = out.Line("%s", note)
	}
	if len(p.Changes) == 0 {
		return p.nothing(out)
	}
	if _, err := out.Write([]byte(p.diff())); err != nil {
		return err // what was not shown is not agreed to
	}
	files := unit.Plural(len(p.Changes), "file")
	switch yes, asked := ask("Change " + files + "?"); {
	case !asked:
		return out.Line("Nothing is written yet: --yes changes %s.", files)
	case !yes:
		return out.Line("Nothing is written.")
	}
	if err := p.write(); err != nil {
		return fmt.Errorf("%w; nothing is changed", err)
	}
	var names []string
	for _, c := range p.Changes {
		names = append(names, c.Path)
	}
	done := "Changed: " + strings.Join(names, ", ")
	if p.install {
		done += "; now install the packages, such as with npm install"
	}
	return out.Line("%s", done)
}

// nothing says why there are no changes. It is an error if there is no place for the setting.
func (p Plan) nothing(out *console.Printer) error {
	switch {
	case p.remove:
		return out.Line("%s: nothing to remove", p.dir)
	case p.Set > 0:
		return out.Line("%s: nothing to change: the setting is there", p.dir)
	}
	return fmt.Errorf("%s: found nothing to change; looked for scripts of package.json that start Go programs of node_modules, "+
		"ENTRYPOINT or CMD of a Go program in a Dockerfile, systemd units (*.service), and for GOGC and GOMEMLIMIT a CI configuration", p.dir)
}

// diff is all changes as a unified diff, of the directory.
func (p Plan) diff() string {
	var out strings.Builder
	for _, c := range p.Changes {
		path := c.Path
		if rel, err := filepath.Rel(p.dir, path); err == nil {
			path = rel
		}
		path = console.Line(filepath.ToSlash(path))
		from, to := "a/"+path, "b/"+path
		if c.Old == nil {
			from = "/dev/null"
		}
		if c.New == nil {
			to = "/dev/null"
		}
		_, text, _ := bytes.Cut(diff.Diff(from, c.Old, to, c.New), []byte("\n")) // of its own head
		out.Write(text)
	}
	return out.String()
}
