package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"
	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/gobench"
	"github.com/foliomem/folio/cmd/internal/view/html"
	"github.com/foliomem/folio/cmd/internal/view/markdown"
)

// An output is a flag that names a file to write, its value ("" for none), and how to make
// what is in it of the result as JSON has it. Without text it is written by put.
type output struct {
	flag, path string
	text       func(json []byte) ([]byte, error)
	file       *result.Output // nil: not asked for
}

// asJSON is the result itself.
func asJSON(path string) output {
	return output{flag: "--json", path: path, text: func(json []byte) ([]byte, error) { return json, nil }}
}

// asPage is the page that folio report makes of the file of --json, whose name it has in it.
func asPage(path, jsonPath string) output {
	name := "folio.json"
	if jsonPath != "" && jsonPath != "-" {
		name = filepath.Base(jsonPath)
	}
	return output{flag: "--html", path: path, text: func(json []byte) ([]byte, error) {
		r, err := result.Read(name, json)
		if err != nil {
			return nil, err
		}
		return html.Render(html.NewPage(r))
	}}
}

// asMarkdown is the same page for pull requests and job summaries.
func asMarkdown(path string) output {
	return output{flag: "--markdown", path: path, text: func(json []byte) ([]byte, error) {
		r, err := result.Read("folio.json", json)
		if err != nil {
			return nil, err
		}
		return markdown.Render(html.NewPage(r)), nil
	}}
}

func markdownFlag(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "markdown", "", "write the same to `file` as Markdown, for pull requests and job summaries (- for standard output)")
}

// asBench is a result in the Go benchmark format.
func asBench[F redactable](path string, f F, redact bool, all func(F) []*benchfmt.Result) output {
	return output{flag: "--bench", path: path, text: func([]byte) ([]byte, error) {
		f, err := shown(f, redact)
		if err != nil {
			return nil, err
		}
		return gobench.Text(all(f))
	}}
}

// pageFlags are where pages of saved results go.
type pageFlags struct{ html, markdown string }

func (f *pageFlags) add(fs *pflag.FlagSet) {
	fs.StringVarP(&f.html, "html", "o", "", "write a page with charts to `file` (- for standard output) instead of text")
	markdownFlag(fs, &f.markdown)
}

func (f *pageFlags) given() bool { return f.html != "" || f.markdown != "" }

// replaces is an error where a page would replace one of the results.
func (f *pageFlags) replaces(command, name string) error {
	for flag, path := range map[string]string{"--html": f.html, "--markdown": f.markdown} {
		if sameFile(name, path) {
			return misusef("%s: %s %s: that is one of the results, and would be replaced", command, flag, path)
		}
	}
	return nil
}

// writePages writes a page of saved results.
func (a *app) writePages(f *pageFlags, p *html.Page) error {
	out, err := a.openOutputs(output{flag: "--html", path: f.html}, output{flag: "--markdown", path: f.markdown})
	if err != nil {
		return err
	}
	page, err := html.Render(p)
	if err == nil {
		err = errors.Join(out.put("--html", page), out.put("--markdown", markdown.Render(p)))
	}
	return errors.Join(err, out.close())
}

// outputs are the files that a command writes.
type outputs []output

// openOutputs opens those that are asked for.
func (a *app) openOutputs(all ...output) (_ outputs, err error) {
	if err := distinctOutputs(all...); err != nil {
		return nil, misuse(err)
	}
	var out outputs
	for _, o := range all {
		if o.path == "" {
			continue
		}
		if o.file, err = result.OpenOutput(o.flag, o.path, a.stdout.Raw()); err != nil {
			return nil, err
		}
		out = append(out, o)
	}
	return out, nil
}

// has reports whether there is one of these flags.
func (all outputs) has(flags ...string) bool {
	return slices.ContainsFunc(all, func(o output) bool { return slices.Contains(flags, o.flag) })
}

// write brings the files up to date. An empty result does not replace an older one, which is
// worth more.
func (all outputs) write(empty bool, json func() ([]byte, error)) error {
	var data []byte
	var failed error
	for _, o := range all {
		if o.text == nil || empty && o.file.HasOld() {
			continue
		}
		if data == nil {
			var err error
			if data, err = json(); err != nil {
				return errors.Join(failed, err)
			}
		}
		text, err := o.text(data)
		if err == nil {
			err = o.file.Write(text)
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

// put writes the file of one flag, if there is one.
func (all outputs) put(flag string, data []byte) error {
	for _, o := range all {
		if o.flag == flag {
			return o.file.Write(data)
		}
	}
	return nil
}

// toStdout says that one of the files is standard output, which must then carry
// nothing else.
func (all outputs) toStdout() bool {
	return slices.ContainsFunc(all, func(o output) bool { return o.file.IsStdout() })
}

func (all outputs) close() (err error) {
	for _, o := range all {
		err = errors.Join(err, o.file.Close())
	}
	return err
}

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
