package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/program/overlay"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/trial"
)

// A source is what folio builds a program from.
type source struct {
	pkg  string   // or .go files, separated by spaces
	test bool     // the program is the test of the package
	args []string // of the program
	with []string // flags of go test that are the build's
}

// A recipe says how to build a source.
type recipe struct {
	root    string   // GOROOT of the toolchain; "": the one that the environment and go.mod choose
	set     []string // variables of the build
	flags   []string // of go build
	patches []string // of the standard library
	// stock builds without patches where they do not fit the toolchain.
	stock bool
}

// A built program is one that folio built itself. Its file is there until remove.
type built struct {
	file string
	dir  string // in which it runs: that of the package for a test; "": the current one
	source
	with *overlay.Overlay // nil where nothing is patched

	scratch *scratch.Dir
}

// patched says whether the program can have its heap on huge pages by the patch.
func (b *built) patched() bool {
	return b.with != nil && slices.ContainsFunc(b.with.Patches, func(p *overlay.Patch) bool { return p.Name == overlay.HeapHugePages })
}

// build builds a source with the patch heap-hugepages, by default as go build does by itself.
// The error is nil, or errNothing if ctx ended.
func (a *app) build(ctx context.Context, src source, how *recipe) (_ *built, err error) {
	toolchain, err := overlay.FindToolchain(ctx, "", "", nil)
	if ctx.Err() != nil {
		return nil, errNothing
	} else if err != nil {
		return nil, fmt.Errorf("--build %s: %w", src.pkg, newerGo(err))
	}
	if toolchain.OS != runtime.GOOS || toolchain.Arch != runtime.GOARCH {
		return nil, fmt.Errorf("--build %s: go builds for %s/%s, and the program is to run here, on %s/%s: unset GOOS and GOARCH",
			src.pkg, toolchain.OS, toolchain.Arch, runtime.GOOS, runtime.GOARCH)
	}
	dir, err := scratch.New(toolchain.Temp)
	if err != nil {
		return nil, fmt.Errorf("--build %s: %w", src.pkg, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove())
		}
	}()
	progress := newProgress(a.stderr)
	defer progress.clear()
	progress.line("building " + src.pkg + " with " + overlay.HeapHugePages + " (the first time with the standard library, about a minute)")
	if how == nil {
		how = &recipe{patches: []string{overlay.HeapHugePages}}
	}
	b, said, err := a.compile(ctx, filepath.Join(dir.Path, "00"), src, *how)
	if err != nil {
		progress.clear()
		if why, known := whyNot(said, err); known {
			err = errors.New(why)
		} else if said != "" {
			_, _ = a.stderr.Write([]byte(said))
		}
		if err != errNothing {
			err = fmt.Errorf("--build %s: %w", src.pkg, err)
		}
		return nil, err
	}
	if b.with != nil && b.with.Note != "" {
		progress.clear()
		_ = a.stderr.Line("folio: note: --build %s: %s", src.pkg, b.with.Note)
	}
	b.scratch = dir
	return b, nil
}

// compile builds a source in a directory, which it makes. said is what the go command said
// where it failed. The error is errNothing if ctx ended.
func (a *app) compile(ctx context.Context, dir string, src source, how recipe) (_ *built, said string, err error) {
	work, bin := filepath.Join(dir, "work"), filepath.Join(dir, "bin")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Mkdir(work, 0o700), os.Mkdir(bin, 0o700)); err != nil {
		return nil, "", err
	}
	patches, err := overlay.Lookup(how.patches...)
	if err != nil {
		return nil, "", err
	}
	// A directory takes the name that go gives the program, and no archive of a package
	// that is none.
	args := []string{"build", "-o", bin + string(filepath.Separator)}
	if src.test {
		args = []string{"test", "-c", "-o", filepath.Join(bin, "bench.test")}
	}
	args = slices.Concat(args, src.with, how.flags, strings.Fields(src.pkg))
	g := overlay.GoCommand{Go: "go", Patches: patches, Args: args, Temp: func(string) (string, error) { return work, nil }}
	if how.root != "" {
		g.Go = filepath.Join(how.root, "bin", "go")
	}
	g.Env = append(os.Environ(), how.set...)
	b := &built{source: src}
	var call overlay.Call
	var refused *overlay.RefusedError
	b.with, call, err = g.Prepare(ctx)
	if errors.As(err, &refused) && how.stock {
		b.with, call, err = nil, overlay.Call{Path: g.Go, Args: args, Set: []string{"GOTMPDIR=" + work}}, nil
	}
	if ctx.Err() != nil {
		return nil, "", errNothing
	} else if err != nil {
		return nil, "", err
	}
	call.Set = slices.Concat(how.set, call.Set)
	if said, err = a.runGo(ctx, call); err != nil {
		return nil, said, err
	}
	if b.file, err = only(bin); err != nil {
		if src.test {
			err = fmt.Errorf("%s has no tests", src.pkg)
		}
		return nil, "", err
	}
	return b, "", os.RemoveAll(work)
}

// runGo runs the go command as trials are run: none of its compilers is left when it
// ends, whatever ends it. If it fails, said is what it said.
func (a *app) runGo(ctx context.Context, call overlay.Call) (said string, err error) {
	var out bytes.Buffer
	program := &trial.Program{Command: append([]string{call.Path}, call.Args...), Dir: call.Dir, FS: procmem.New(""), Stderr: &out}
	sample, err := program.Run(ctx, trial.Setting{Env: call.Set}, trial.Request{})
	if err == nil && !sample.OK() {
		// ctrl-C on a terminal goes to the go command as well, which may end before
		// folio hears of it.
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
			return out.String(), fmt.Errorf("the go command could not build it (%s)", sample.Failure)
		}
	}
	if ctx.Err() != nil {
		return "", errNothing
	}
	return "", err
}

// only returns the one file in a directory.
func only(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return "", errors.New("not a main package")
	case len(files) > 1:
		return "", fmt.Errorf("it means %d programs, %s and %s among them: want one", len(files), files[0].Name(), files[1].Name())
	}
	return filepath.Join(dir, files[0].Name()), nil
}

// command returns the command line that runs the program, and the one that is shown,
// with its name for its path.
func (b *built) command(args []string) (run, show []string) {
	if b.test {
		return append([]string{b.file}, b.args...), slices.Concat([]string{"go", "test"}, b.source.with, b.args, []string{b.pkg})
	}
	return append([]string{b.file}, args...), append([]string{filepath.Base(b.file)}, args...)
}

// record returns what the result says of the build.
func (b *built) record() *result.Build {
	return &result.Build{Package: b.pkg, Test: b.test, Patches: b.patches()}
}

// patches returns the patches in the program, as name@hash.
func (b *built) patches() []string {
	if b.with == nil {
		return []string{}
	}
	return b.with.Record.List()
}

// patchesIn returns the patches of Go's runtime that a program has which was built before,
// as name@hash; nil where that cannot be read.
func patchesIn(program string) []string {
	file, err := exec.LookPath(program)
	if err != nil {
		return nil
	}
	r, err := overlay.ReadFile(file)
	if err != nil || r == nil {
		return nil
	}
	return r.List()
}

// remove removes the program.
func (b *built) remove() error {
	if b == nil {
		return nil
	}
	return b.scratch.Remove()
}

// build builds the program and begins the result.
func (s *session) build(ctx context.Context, a *app, src source, how *recipe, kind string, args []string) error {
	b, err := a.build(ctx, src, how)
	if err != nil {
		return err
	}
	if src.test { // it runs where go test runs it
		if b.dir, err = packageDir(ctx, "", src.pkg); err != nil {
			return errors.Join(err, b.remove())
		}
	}
	command, show := b.command(args)
	s.about(kind, show, b.file)
	s.built, s.program.Command, s.program.Patched, s.program.Dir = b, command, b.patched(), b.dir
	s.file.Program.Build = b.record()
	return nil
}

// checkBuild checks what --build is and goes with.
func (f *programFlags) checkBuild(thp trial.THP) error {
	switch {
	case !f.given.Changed("build"):
		return nil
	case strings.TrimSpace(f.build) == "":
		return errors.New("--build: want a package, such as ./cmd/server")
	}
	for _, word := range strings.Fields(f.build) {
		if strings.HasPrefix(word, "-") {
			return fmt.Errorf("--build %q: want a package or .go files: flags of the build go into GOFLAGS, arguments of the program after --", f.build)
		}
	}
	for _, kv := range f.env {
		if key, _, _ := strings.Cut(kv, "="); key == overlay.HugePagesVariable {
			return fmt.Errorf("--env %s: with --build, --thp says that: heap or system", kv)
		}
	}
	return nil
}
