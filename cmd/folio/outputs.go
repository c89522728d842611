package main

import (
	"github.com/spf13/pflag"
	"golang.org/x/perf/benchfmt"

	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/output"
)

func markdownFlag(fs *pflag.FlagSet, to *string) {
	fs.StringVar(to, "markdown", "", "write the same to `file` as Markdown")
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
		if output.Same(name, path) {
			return misusef("%s: %s %s: that is one of the results, and would be replaced", command, flag, path)
		}
	}
	return nil
}

// writePages writes a page of saved results.
func (a *app) writePages(f *pageFlags, p *document.Document) error {
	out, err := a.openOutputs(output.File{Flag: "--html", Path: f.html}, output.File{Flag: "--markdown", Path: f.markdown})
	if err != nil {
		return err
	}
	return output.Pages(out, p)
}

// openOutputs opens the files that are asked for.
func (a *app) openOutputs(all ...output.File) (output.List, error) {
	if err := output.Distinct(all...); err != nil {
		return nil, misuse(err)
	}
	return output.Open(a.stdout.Raw(), all...)
}

// asBench is a result in the Go benchmark format.
func asBench[F result.Kind](path string, f F, redact bool, all func(F) []*benchfmt.Result) output.File {
	return output.Bench(path, func() ([]*benchfmt.Result, error) {
		f, err := shown(f, redact)
		if err != nil {
			return nil, err
		}
		return all(f), nil
	})
}
