package overlay

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Toolchain is the Go that would build in a directory: go.mod and GOTOOLCHAIN may
// choose another than the go command that is called.
type Toolchain struct {
	Root       string // GOROOT
	Version    string // such as go1.26.8
	OS, Arch   string // built for
	Experiment string // GOEXPERIMENT, comma-separated
	Flags      string // GOFLAGS
	Temp       string // GOTMPDIR; "": the system's directory for temporary files

	cache string // GOMODCACHE
}

// FindToolchain asks the go command in a directory ("": the current one) for what it
// would build with. A nil environment is folio's own.
func FindToolchain(ctx context.Context, goCommand, dir string, env []string) (*Toolchain, error) {
	goCommand, err := exec.LookPath(goOr(goCommand))
	if err != nil {
		return nil, fmt.Errorf("%w: install Go, or put it into PATH", err)
	}
	cmd := exec.CommandContext(ctx, goCommand, "env", "-json", "GOROOT", "GOVERSION", "GOOS", "GOARCH", "GOEXPERIMENT",
		"GOFLAGS", "GOMODCACHE", "GOTMPDIR")
	cmd.Dir, cmd.Env = dir, env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		if why := strings.TrimSpace(stderr.String()); why != "" {
			err = errors.New(why)
		}
		return nil, fmt.Errorf("go env: %w", err)
	}
	var got struct{ GOROOT, GOVERSION, GOOS, GOARCH, GOEXPERIMENT, GOFLAGS, GOMODCACHE, GOTMPDIR string }
	if err := json.Unmarshal(out, &got); err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	if got.GOROOT == "" {
		return nil, errors.New("go env: no GOROOT: the go command does not know where its standard library is (set GOROOT)")
	}
	return &Toolchain{Root: got.GOROOT, Version: got.GOVERSION, OS: got.GOOS, Arch: got.GOARCH,
		Experiment: got.GOEXPERIMENT, Flags: got.GOFLAGS, Temp: got.GOTMPDIR, cache: got.GOMODCACHE}, nil
}

// lang returns the language version, such as go1.26; of a development version the one
// that it will be; "" where none can be seen.
func (t *Toolchain) lang() string {
	for _, word := range strings.Fields(t.Version) { // "devel go1.27-0123abcd ...", "go1.26.8 X:arenas"
		base, _, _ := strings.Cut(word, "-")
		if l := version.Lang(base); l != "" {
			return l
		}
	}
	return ""
}

// String is what messages call it.
func (t *Toolchain) String() string {
	v, _, _ := strings.Cut(t.Version, " X:")
	return v + " " + t.OS + "/" + t.Arch
}

// experimental reports whether an experiment of GOEXPERIMENT is on.
func (t *Toolchain) experimental(name string) bool {
	return slices.Contains(strings.Split(t.Experiment, ","), name)
}

// read returns a file of the standard library, with slashes in its name below GOROOT.
func (t *Toolchain) read(file string) ([]byte, error) {
	return os.ReadFile(t.path(file))
}

func (t *Toolchain) path(file string) string { return filepath.Join(t.Root, filepath.FromSlash(file)) }

// inModules returns the toolchain under a name outside of the module cache, and whether
// it had to be given one. The go command refuses to replace files in its module cache,
// where the toolchains are that it downloaded, and a link is enough.
func (t *Toolchain) inModules(s store) (*Toolchain, bool, error) {
	if rel, err := filepath.Rel(t.cache, t.Root); t.cache == "" || err != nil || !filepath.IsLocal(rel) {
		return t, false, nil
	}
	link := filepath.Join(s.dir, "toolchains", filepath.Base(t.Root)+"-"+hash(t.Root)[:8])
	if err := s.makeDir(filepath.Dir(link)); err != nil {
		return nil, false, &writeError{err}
	} else if err := linkTo(link, t.Root); err != nil {
		return nil, false, &writeError{err}
	}
	moved := *t
	moved.Root = link
	return &moved, true, nil
}

func linkTo(link, target string) error {
	if have, err := os.Readlink(link); err == nil && have == target {
		return nil
	}
	// Another folio may do the same: a link is made beside it and renamed.
	tmp := fmt.Sprintf("%s.%d", link, os.Getpid())
	if err := os.Symlink(target, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, link); err != nil {
		return errors.Join(err, os.Remove(tmp))
	}
	return nil
}

func goOr(goCommand string) string { return cmp.Or(goCommand, "go") }
