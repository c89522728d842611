package main

import (
	"errors"
	"io"

	"github.com/foliomem/folio/cmd/internal/view/output"

	"github.com/spf13/pflag"

	"github.com/foliomem/folio/cmd/internal/result"
)

// redactFlag adds --redact.
func redactFlag(fs *pflag.FlagSet, redact *bool) {
	fs.BoolVar(redact, "redact", false, "omit arguments, directories, values of the environment, cgroups, users and the host from\noutput and files")
}

// A redactable is a result.
type redactable interface{ JSON() ([]byte, error) }

// shown returns a result as it is shown and written: itself, or what --redact leaves.
func shown[F redactable](f F, redact bool) (F, error) {
	if !redact {
		return f, nil
	}
	return result.Redacted(f)
}

// finish writes the files of a result and shows its text: elsewhere, if standard output is a
// file's. What cannot be written is shown all the same.
func finish[F redactable](a *app, out output.List, file F, redact bool, elsewhere io.Writer, text func(io.Writer, F) error) error {
	file, err := shown(file, redact)
	if err != nil {
		return err
	}
	w := io.Writer(a.stdout)
	if out.ToStdout() {
		w = elsewhere
	}
	return errors.Join(out.Write(false, file.JSON), text(w, file))
}

// jsonOf returns what makes the text of a result as it is shown.
func jsonOf[F redactable](f F, redact bool) func() ([]byte, error) {
	return func() ([]byte, error) {
		f, err := shown(f, redact)
		if err != nil {
			return nil, err
		}
		return f.JSON()
	}
}
