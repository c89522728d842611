// Package output writes the files that a command is asked for: its result as JSON, as a page, as
// Markdown, in the Go benchmark format.
package output

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/cmd/internal/view/html"
	"github.com/foliomem/folio/cmd/internal/view/markdown"
)

// A File is a flag that names a file to write, its value ("" for none), and how to make
// what is in it of the result as JSON has it. Without text it is written by Put.
type File struct {
	Flag, Path string
	Text       func(json []byte) ([]byte, error)
	file       *result.Output // nil: not asked for
}

// JSON is the result itself.
func JSON(path string) File {
	return File{Flag: "--json", Path: path, Text: func(json []byte) ([]byte, error) { return json, nil }}
}

// Page is the page that folio report makes of the file of --json, whose name it has in it.
func Page(path, jsonPath string) File {
	name := "folio.json"
	if jsonPath != "" && jsonPath != "-" {
		name = filepath.Base(jsonPath)
	}
	return File{Flag: "--html", Path: path, Text: func(json []byte) ([]byte, error) {
		r, err := result.Read(name, json)
		if err != nil {
			return nil, err
		}
		return html.Render(document.New(r))
	}}
}

// Markdown is the same page for pull requests and job summaries.
func Markdown(path string) File {
	return File{Flag: "--markdown", Path: path, Text: func(json []byte) ([]byte, error) {
		r, err := result.Read("folio.json", json)
		if err != nil {
			return nil, err
		}
		return markdown.Render(document.New(r)), nil
	}}
}

// Bench is a result in the Go benchmark format.
func Bench(path string, all func() ([]*benchfmt.Result, error)) File {
	return File{Flag: "--bench", Path: path, Text: func([]byte) ([]byte, error) {
		r, err := all()
		if err != nil {
			return nil, err
		}
		return gobench.Text(r)
	}}
}

// A List is the files that a command writes.
type List []File

// Open opens those that are asked for. "-" is stdout.
func Open(stdout io.Writer, all ...File) (_ List, err error) {
	var out List
	for _, o := range all {
		if o.Path == "" {
			continue
		}
		if o.file, err = result.OpenOutput(o.Flag, o.Path, stdout); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// Has reports whether there is one of these flags.
func (all List) Has(flags ...string) bool {
	return slices.ContainsFunc(all, func(o File) bool { return slices.Contains(flags, o.Flag) })
}

// Write brings the files up to date. An empty result does not replace an older one, which is
// worth more.
func (all List) Write(empty bool, json func() ([]byte, error)) error {
	var data []byte
	var failed error
	for _, o := range all {
		if o.Text == nil || empty && o.file.HasOld() {
			continue
		}
		if data == nil {
			var err error
			if data, err = json(); err != nil {
				return errors.Join(failed, err)
			}
		}
		text, err := o.Text(data)
		if err == nil {
			err = o.file.Write(text)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// Put writes the file of one flag, if there is one.
func (all List) Put(flag string, data []byte) error {
	for _, o := range all {
		if o.Flag == flag {
			return o.file.Write(data)
		}
	}
	return nil
}

// ToStdout says that one of the files is standard output, which must then carry
// nothing else.
func (all List) ToStdout() bool {
	return slices.ContainsFunc(all, func(o File) bool { return o.file.IsStdout() })
}

func (all List) Close() (err error) {
	for _, o := range all {
		err = errors.Join(err, o.file.Close())
	}
	return err
}

// Distinct refuses result files of which two are the same: the second would
// replace the first. Devices take any number.
func Distinct(outputs ...File) error {
	for i, o := range outputs {
		for _, before := range outputs[:i] {
			switch {
			case o.Path == "-" && before.Path == "-":
				return fmt.Errorf("%s - and %s -: only one of them can go to standard output", before.Flag, o.Flag)
			case Same(o.Path, before.Path):
				return fmt.Errorf("%s %s and %s %s: each needs a file of its own", before.Flag, before.Path, o.Flag, o.Path)
			}
		}
	}
	return nil
}

// Same says that two paths are one file, there or not, that would be replaced.
func Same(a, b string) bool {
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

// Pages are a page and Markdown of saved results.
func Pages(out List, p *document.Document) error {
	page, err := html.Render(p)
	if err == nil {
		err = errors.Join(out.Put("--html", page), out.Put("--markdown", markdown.Render(p)))
	}
	return errors.Join(err, out.Close())
}
