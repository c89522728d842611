package main

import (
	"github.com/spf13/pflag"

	"github.com/foliomem/folio/internal/result"
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
