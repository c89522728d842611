package main

import (
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/result"
)

// redactFlag adds --redact.
func redactFlag(fs *pflag.FlagSet, redact *bool) {
	fs.BoolVar(redact, "redact", false, "omit arguments, directories, values of the environment, cgroups, users and the host from\noutput and files")
}

// shown returns a result as it is shown and written: itself, or what --redact leaves.
func shown[F interface{ JSON() ([]byte, error) }](f F, redact bool) (F, error) {
	if !redact {
		return f, nil
	}
	return result.Redacted(f)
}

// textOf returns what makes the text of a result as it is shown: as JSON, or in the Go
// benchmark format.
func textOf[F interface{ JSON() ([]byte, error) }](f F, redact bool, text func(F) ([]byte, error)) func() ([]byte, error) {
	return func() ([]byte, error) {
		f, err := shown(f, redact)
		if err != nil {
			return nil, err
		}
		return text(f)
	}
}
