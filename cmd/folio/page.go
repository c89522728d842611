package main

import (
	"errors"
	"path/filepath"

	"github.com/foliomem/folio/internal/html"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/saved"
)

// A page is the file of --html.
type page struct {
	out  *report.Output // nil: not asked for
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
	p.out, err = report.OpenOutput("--html", path, a.stdout)
	return p, err
}

// write brings the page up to date. It is made of the result as JSON has it, so
// that it is the page that folio report makes of the file of --json.
func (p page) write(empty bool, result func() ([]byte, error)) error {
	return writeResult(p.out, empty, func() ([]byte, error) {
		data, err := result()
		if err != nil {
			return nil, err
		}
		r, err := saved.Read(p.name, data)
		if err != nil {
			return nil, err
		}
		return html.Render(html.Of(r))
	})
}

// twoToStdout says that more than one result is to go to standard output.
func twoToStdout(paths ...string) bool {
	n := 0
	for _, p := range paths {
		if p == "-" {
			n++
		}
	}
	return n > 1
}

var errTwoToStdout = errors.New("--json -, --bench - and --html -: only one of them can go to standard output")
