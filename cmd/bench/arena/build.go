package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const (
	module = "github.com/foliomem/folio"
	nuke   = "github.com/ortuman/nuke"
	// nukeVersion is the last one.
	nukeVersion = "v1.3.0"
)

// A builder builds the programs into a directory. What cannot be built for want of
// something is an error that says how to get it.
type builder struct {
	dir    string
	source string // this package's
	root   string // Folio's module
}

func newBuilder(dir string) (*builder, error) {
	root, err := output("", nil, "go", "list", "-m", "-f", "{{.Dir}}", module)
	if err != nil {
		return nil, fmt.Errorf("find Folio's source: run this inside its tree: %w", err)
	}
	return &builder{dir: dir, source: filepath.Join(root, "cmd", "bench", "arena"), root: root}, nil
}

func output(dir string, env []string, name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(clean(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return strings.TrimSpace(string(out)), nil
}

// golang builds one of the Go programs beside this one.
func (b *builder) golang(name string, env ...string) (string, error) {
	path := filepath.Join(b.dir, strings.Join(append([]string{"go", name}, env...), "-"))
	_, err := output(b.root, env, "go", "build", "-o", path, "./cmd/bench/arena/"+name)
	return path, err
}

const experiment = "GOEXPERIMENT=arenas"

// goArenas builds a Go program with Go's experimental arenas.
func (b *builder) goArenas(name string) (string, error) {
	path, err := b.golang(name, experiment)
	if err != nil {
		return "", fmt.Errorf("this toolchain does not build it with %s: %w", experiment, err)
	}
	return path, nil
}

// nuke builds the program that needs the module nuke, in a module of its own.
func (b *builder) nuke() (string, error) {
	dir := filepath.Join(b.dir, "nuke-module")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	source, err := os.ReadFile(filepath.Join(b.source, "testdata", "nuke", "main.go"))
	if err != nil {
		return "", err
	}
	// The path of the module lets it import this directory's internal packages.
	mod := fmt.Sprintf("module %s/bench/arena/nuke\n\ngo 1.26\n\nrequire %[1]s v0.0.0\n\nreplace %[1]s => %s\n", module, b.root)
	if err := errors.Join(
		os.WriteFile(filepath.Join(dir, "main.go"), source, 0o600),
		os.WriteFile(filepath.Join(dir, "go.mod"), []byte(mod), 0o600),
	); err != nil {
		return "", err
	}
	if _, err := output(dir, nil, "go", "get", nuke+"@"+nukeVersion); err != nil {
		return "", fmt.Errorf("needs the module %s: %w", nuke, err)
	}
	path := filepath.Join(b.dir, "nuke")
	_, err = output(dir, nil, "go", "build", "-o", path, ".")
	return path, err
}

// A library is what trees.c can be linked with.
type library struct {
	use    string // the macro
	link   string // the library, as for the linker; "" is none
	pkg    string // the distribution's package, as Debian calls it
	config string // a command that prints flags, of the same package; "" is none
}

var (
	glibc    = library{use: "USE_MALLOC"}
	mimalloc = library{use: "USE_MALLOC", link: "mimalloc", pkg: "libmimalloc-dev"}
	jemalloc = library{use: "USE_MALLOC", link: "jemalloc", pkg: "libjemalloc-dev"}
	tcmalloc = library{use: "USE_MALLOC", link: "tcmalloc_minimal", pkg: "libgoogle-perftools-dev"}
	apr      = library{use: "USE_APR", link: "apr-1", pkg: "libapr1-dev", config: "apr-1-config"}
	bump     = library{use: "USE_BUMP"}
)

// compiler returns the C compiler.
func compiler() (string, error) {
	cc := cmp.Or(os.Getenv("CC"), "cc")
	if _, err := exec.LookPath(cc); err != nil {
		return "", errors.New("needs a C compiler: apt-get install gcc libc6-dev")
	}
	return cc, nil
}

// loop builds loop.c.
func (b *builder) loop() (string, error) {
	cc, err := compiler()
	if err != nil {
		return "", err
	}
	path := filepath.Join(b.dir, "c-loop")
	_, err = output("", nil, cc, "-O3", "-Wall", "-Wextra", "-o", path, filepath.Join(b.source, "testdata", "loop.c"), "-pthread")
	return path, err
}

// c builds trees.c with a library.
func (b *builder) c(l library) (string, error) {
	cc, err := compiler()
	if err != nil {
		return "", err
	}
	install := "apt-get install " + l.pkg
	path := filepath.Join(b.dir, "c-"+l.use+l.link)
	args := []string{"-O3", "-flto", "-Wall", "-Wextra", "-D" + l.use, "-o", path}
	if l.config != "" {
		flags, err := output("", nil, l.config, "--cppflags", "--includes")
		if err != nil {
			return "", errors.New(install)
		}
		args = append(args, strings.Fields(flags)...)
	}
	args = append(args, filepath.Join(b.source, "testdata", "trees.c"), "-pthread")
	if l.link != "" {
		// A program that calls malloc does not refer to the library by name.
		args = append(args, "-Wl,--no-as-needed", "-l"+l.link)
	}
	if _, err := output("", nil, cc, args...); err != nil {
		if l.link != "" && strings.Contains(err.Error(), "-l"+l.link) && strings.Contains(err.Error(), "find") {
			return "", errors.New(install)
		}
		return "", err
	}
	if l.use != glibc.use {
		return path, nil
	}
	// Another library's malloc would be measured under this one's name.
	from, err := output("", nil, path, "which")
	if err != nil {
		return "", err
	}
	if !strings.Contains(filepath.Base(from), l.link) {
		return "", fmt.Errorf("its malloc comes from %s", from)
	}
	return path, nil
}

// bumpalo builds the Rust program.
func (b *builder) bumpalo() (string, error) {
	if _, err := exec.LookPath("cargo"); err != nil {
		return "", errors.New("needs Rust: apt-get install cargo")
	}
	target := filepath.Join(b.dir, "cargo")
	manifest := filepath.Join(b.source, "testdata", "bumpalo", "Cargo.toml")
	if _, err := output("", nil, "cargo", "build", "--quiet", "--release", "--locked", "--manifest-path", manifest,
		"--target-dir", target); err != nil {
		return "", err
	}
	return filepath.Join(target, "release", "trees"), nil
}
