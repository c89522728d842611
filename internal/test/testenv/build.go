package testenv

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
)

// A Build is a program that a test builds.
type Build struct {
	Dir    string            // where its source is
	Source map[string]string // or the source, by file name, in a module of its own
	Args   []string          // of go build, such as -race
	Env    []string          // as CGO_ENABLED=0, besides the environment
	Output string            // file; default: one that is gone with the test
}

// Module returns a program of one file as a module of its own, which an old Go takes, too.
func Module(main string) map[string]string {
	return map[string]string{"main.go": main, "go.mod": "module program\n\ngo 1.18\n"}
}

// Do builds the program and returns its file. The environment's GOFLAGS do not count, nor, for a
// module of its own, the workspace.
func (b Build) Do(t testing.TB) string {
	t.Helper()
	out, err := b.Try(t)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Try is Do for a build that may fail, as with a toolchain that is not there: the error
// has what go build prints.
func (b Build) Try(t testing.TB) (string, error) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		Missing(t, "%v", err)
	}
	dir := b.Dir
	if b.Source != nil {
		dir = t.TempDir()
		for name, text := range b.Source {
			path := filepath.Join(dir, name)
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	out := b.Output
	if out == "" {
		out = filepath.Join(t.TempDir(), "program")
	}
	cmd := exec.Command("go", append(append([]string{"build", "-o", out}, b.Args...), ".")...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "GOFLAGS=", "PWD="+dir), b.Env...)
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		cmd.Env = append(cmd.Env, "GOWORK=off") // those without are of the workspace
	}
	if slices.Contains(b.Env, "GOTOOLCHAIN=go1.19.13") {
		cmd.Env = append(cmd.Env, "GODEBUG=goindex=0") // its index does not work in the module cache
	}
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%q: %w\n%s", cmd.Args, err, text)
	}
	return out, nil
}
