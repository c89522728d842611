//go:build !goarenas

package arenabench

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// source is what the program with Go's arenas is made of.
//
//go:embed doc.go work.go trees.go json.go document.go index.go text.go goarena.go meter.go meter_linux.go meter_other.go goarenas/main.go
var source embed.FS

// Source is the source of the program with Go's arenas.
type Source struct {
	// Args are those of the go command that builds it, in its directory, into
	// the file Program; Env is what it needs in its environment.
	Args, Env []string
	Program   string
}

// dir is where the package is in its module.
const dir = "cmd/internal/lab/arenabench"

// WriteSource writes the source of the program with Go's arenas to a directory.
func WriteSource(to string) (*Source, error) {
	err := fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		return write(filepath.Join(to, dir, filepath.FromSlash(path)), data)
	})
	if err == nil {
		err = write(filepath.Join(to, "go.mod"), []byte("module github.com/foliomem/folio\n\ngo 1.22\n"))
	}
	if err != nil {
		return nil, fmt.Errorf("write the program with Go's arenas: %w", err)
	}
	program := filepath.Join(to, "goarenas.exe")
	return &Source{
		Args:    []string{"build", "-tags", "goarenas", "-trimpath", "-o", program, "./" + dir + "/goarenas"},
		Env:     []string{"GOEXPERIMENT=arenas", "GOFLAGS=", "GOTOOLCHAIN=local", "GOWORK=off", "GOPROXY=off", "GO111MODULE=on", "CGO_ENABLED=0"},
		Program: program,
	}, nil
}

func write(file string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		return err
	}
	return os.WriteFile(file, data, 0o666)
}
