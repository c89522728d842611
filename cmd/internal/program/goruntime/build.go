package goruntime

import (
	"errors"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// ReadBuild is [executable.ReadBuild], and knows programs whose build information was removed: the
// runtime still has the version of Go, and nothing has the rest.
func ReadBuild(path string) (executable.Build, error) {
	build, err := executable.ReadBuild(path)
	if !errors.Is(err, executable.ErrNotGo) {
		return build, err
	}
	f, ferr := symbol.Open(path)
	if ferr != nil {
		return build, err
	}
	defer f.Close()
	if f.Foreign() != nil {
		return build, err
	}
	layout.Identify(f)
	if f.GoVersion() == "" {
		return build, err
	}
	return executable.Build{GoVersion: f.GoVersion()}, nil
}
