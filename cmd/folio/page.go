package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/view/html"
)

// A page is the file of --html.
type page struct {
	out  *result.Output // nil: not asked for
	name string         // of the result in it, when it is taken out
}

// openPage opens the file of --html. jsonPath is that of --json, if there is one:
// the result in the page has its name.
func (a *app) openPage(path, jsonPath string) (p page, err error) {
	if path == "" {
		return p, nil
	}
	p.name = "folio.json"
	if jsonPath != "" && jsonPath != "-" {
		p.name = filepath.Base(jsonPath)
	}
	p.out, err = result.OpenOutput("--html", path, a.stdout.Raw())
	return p, err
}

// write brings the page up to date. It is made of the result as JSON has it, so
// that it is the page that folio report makes of the file of --json.
func (p page) write(empty bool, text func() ([]byte, error)) error {
	return writeResult(p.out, empty, func() ([]byte, error) {
		data, err := text()
		if err != nil {
			return nil, err
		}
		r, err := result.Read(p.name, data)
		if err != nil {
			return nil, err
		}
		return html.Render(html.NewPage(r))
	})
}

// snapshotOutputs are where a command that only looks writes what it saw.
type snapshotOutputs struct {
	json *result.Output // nil: not asked for
	page page
}

func (a *app) openSnapshot(jsonPath, htmlPath string) (o snapshotOutputs, err error) {
	if err := distinctOutputs(output{"--json", jsonPath}, output{"--html", htmlPath}); err != nil {
		return o, misuse(err)
	}
	if o.json, _, err = a.openResults(jsonPath, ""); err != nil {
		return o, err
	}
	o.page, err = a.openPage(htmlPath, jsonPath)
	return o, err
}

// write brings the files up to date.
func (o snapshotOutputs) write(result func() ([]byte, error)) error {
	return errors.Join(writeResult(o.json, false, result), o.page.write(false, result))
}

// toStdout says that one of the files is standard output, which must then carry
// nothing else.
func (o snapshotOutputs) toStdout() bool { return o.json.IsStdout() || o.page.out.IsStdout() }

func (o snapshotOutputs) close() error { return errors.Join(o.json.Close(), o.page.out.Close()) }

// output is a flag that names a file to write, and its value: "" for none.
type output struct{ flag, path string }

// distinctOutputs refuses result files of which two are the same: the second would
// replace the first. Devices take any number.
func distinctOutputs(outputs ...output) error {
	for i, o := range outputs {
		for _, before := range outputs[:i] {
			switch {
			case o.path == "-" && before.path == "-":
				return fmt.Errorf("%s - and %s -: only one of them can go to standard output", before.flag, o.flag)
			case sameFile(o.path, before.path):
				return fmt.Errorf("%s %s and %s %s: each needs a file of its own", before.flag, before.path, o.flag, o.path)
			}
		}
	}
	return nil
}

// sameFile says that two paths are one file, there or not, that would be replaced.
func sameFile(a, b string) bool {
	if a == "" || b == "" || a == "-" || b == "-" {
		return false
	}
	ai, aerr := os.Stat(a)
	bi, berr := os.Stat(b)
	switch {
	case aerr == nil && berr == nil:
		return ai.Mode().IsRegular() && os.SameFile(ai, bi)
	case aerr == nil || berr == nil:
		return false
	}
	aa, aerr := filepath.Abs(a)
	ba, berr := filepath.Abs(b)
	return aerr == nil && berr == nil && aa == ba
}
