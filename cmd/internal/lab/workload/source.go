package workload

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

//go:embed _assist _index _malloc
var source embed.FS

// A Source is a program as it was written to a directory: what go build needs.
type Source struct {
	Dir   string
	Flags []string // of go build
}

// Index writes the source of program index. Given where Folio is, the program
// imports package auto of it, and does nothing else with it.
func Index(dir string, with *Folio) (*Source, error) {
	s := &Source{Dir: dir}
	if err := write("_index", dir); err != nil {
		return nil, err
	}
	if with == nil {
		return s, nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return nil, fmt.Errorf("write the program index: %w", err)
	}
	s.Flags = []string{"-tags=folioauto"}
	if with.Dir == "" {
		// The sums of that version, and of what it requires, are for go to find.
		s.Flags = append(s.Flags, "-mod=mod")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(with.require(string(text))), 0o666); err != nil {
		return nil, fmt.Errorf("write the program index: %w", err)
	}
	return s, nil
}

// Malloc writes the source of program malloc.
func Malloc(dir string) (*Source, error) {
	return &Source{Dir: dir}, write("_malloc", dir)
}

// Assist writes the source of program assist.
func Assist(dir string) (*Source, error) {
	return &Source{Dir: dir}, write("_assist", dir)
}

// write writes a program to a directory. What is called go.mod.txt here, since
// embedding ends where another module begins, is go.mod there.
func write(name, dir string) error {
	err := fs.WalkDir(source, name, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := source.ReadFile(path)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, filepath.FromSlash(strings.TrimSuffix(strings.TrimPrefix(path, name+"/"), ".txt")))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			return err
		}
		return os.WriteFile(to, data, 0o666)
	})
	if err != nil {
		return fmt.Errorf("write the program %s: %w", strings.TrimPrefix(name, "_"), err)
	}
	return nil
}
