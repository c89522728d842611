package main

import (
	"cmp"
	"errors"
	"io"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/view/document"
	"github.com/foliomem/folio/cmd/internal/view/output"
	"github.com/foliomem/folio/cmd/internal/view/text"
)

// resultFlags are where a result goes, and what is left out of it.
type resultFlags struct {
	json, html, markdown string
	redact, full         bool
}

// add adds the flags; what is it that they write?
func (f *resultFlags) add(fs *pflag.FlagSet, what string) {
	fs.StringVar(&f.json, "json", "", "write "+what+" to `file` as JSON; - is standard output")
	fs.StringVar(&f.html, "html", "", "write the same to `file` as an HTML page")
	markdownFlag(fs, &f.markdown)
	fullFlag(fs, &f.full)
	redactFlag(fs, &f.redact)
}

func fullFlag(fs *pflag.FlagSet, full *bool) {
	fs.BoolVar(full, "full", false, "show every figure, not only the answer")
}

// files are those that are asked for.
func (f *resultFlags) files() []output.File {
	return []output.File{output.JSON(f.json), output.Page(f.html, f.json), output.Markdown(f.markdown)}
}

// redactFlag adds --redact.
func redactFlag(fs *pflag.FlagSet, redact *bool) {
	fs.BoolVar(redact, "redact", false, "leave arguments, directories, users and host out of output and files")
}

// shown returns a result as it is shown and written: itself, or what --redact leaves.
func shown[F result.Kind](f F, redact bool) (F, error) {
	if !redact {
		return f, nil
	}
	return result.Redacted(f)
}

// finish writes the files of a result and shows its text: elsewhere, if standard output is a
// file's. What cannot be written is shown all the same.
func finish[F result.Kind](a *app, out output.List, file F, f resultFlags, elsewhere io.Writer, o text.Options) error {
	file, err := shown(file, f.redact)
	if err != nil {
		return err
	}
	w := io.Writer(a.stdout)
	if out.ToStdout() {
		w = elsewhere
	}
	o.Full = f.full
	return errors.Join(out.Write(false, file.JSON), show(w, file, o))
}

// show prints a result, as wide as the terminal is.
func show(w io.Writer, of result.Kind, o text.Options) error {
	o.Width = cmp.Or(o.Width, terminal.Columns(w))
	return text.Render(w, document.Text(of), o)
}

// jsonOf returns what makes the text of a result as it is shown.
func jsonOf[F result.Kind](f F, redact bool) func() ([]byte, error) {
	return func() ([]byte, error) {
		f, err := shown(f, redact)
		if err != nil {
			return nil, err
		}
		return f.JSON()
	}
}
