package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/foliomem/folio/internal/overlay"
	"github.com/foliomem/folio/internal/procmem"
	"github.com/foliomem/folio/internal/report"
	"github.com/foliomem/folio/internal/trial"
)

// A built program is one that folio built itself for --build. Its file is there until
// remove.
type built struct {
	file string
	pkg  string // what it was built from
	with *overlay.Overlay

	scratch *scratch
}

// build builds a package with the patch heap-hugepages. The error is nil, or errNothing
// if ctx ended.
func (a *app) build(ctx context.Context, pkg string) (_ *built, err error) {
	toolchain, err := overlay.FindToolchain(ctx, "", "", nil)
	if ctx.Err() != nil {
		return nil, errNothing
	} else if err != nil {
		return nil, fmt.Errorf("--build %s: %w", pkg, err)
	}
	if toolchain.OS != runtime.GOOS || toolchain.Arch != runtime.GOARCH {
		return nil, fmt.Errorf("--build %s: go builds for %s/%s, and the program is to run here, on %s/%s: unset GOOS and GOARCH",
			pkg, toolchain.OS, toolchain.Arch, runtime.GOOS, runtime.GOARCH)
	}
	b := &built{pkg: pkg}
	if b.scratch, err = newScratch(); err != nil {
		return nil, fmt.Errorf("--build %s: make a temporary directory: %w: set TMPDIR (or GOTMPDIR) to one that can be written", pkg, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.remove())
		}
	}()
	progress := newProgress(a.stderr)
	defer progress.clear()
	progress.line("building " + pkg + " with " + overlay.HeapHugePages + " (the first time with the standard library, about a minute)")

	work, bin := filepath.Join(b.scratch.dir, "work"), filepath.Join(b.scratch.dir, "bin")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(bin, 0o700)); err != nil {
		return nil, fmt.Errorf("--build %s: %w", pkg, err)
	}
	patches, err := overlay.Lookup(overlay.HeapHugePages)
	if err != nil {
		return nil, err
	}
	// A directory takes the name that go gives the program, and no archive of a package
	// that is none.
	args := append([]string{"build", "-o", bin + string(filepath.Separator)}, strings.Fields(pkg)...)
	var call overlay.Call
	if b.with, call, err = (overlay.GoCommand{Patches: patches, Args: args}).Prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, errNothing
		}
		return nil, fmt.Errorf("--build %s: %w", pkg, err)
	}
	if err := a.runGo(ctx, call, "GOTMPDIR="+work, progress); err != nil {
		if err != errNothing {
			err = fmt.Errorf("--build %s: %w", pkg, err)
		}
		return nil, err
	}
	b.file, err = only(bin)
	if err != nil {
		return nil, fmt.Errorf("--build %s: %w", pkg, err)
	}
	return b, os.RemoveAll(work)
}

// runGo runs the go command as trials are run: none of its compilers is left when it
// ends, whatever ends it. If it fails, what it said is shown as it said it.
func (a *app) runGo(ctx context.Context, call overlay.Call, env string, p *progress) error {
	var said bytes.Buffer
	program := &trial.Program{Command: append([]string{call.Path}, call.Args...), FS: procmem.New(""), Stderr: &said}
	sample, err := program.Run(ctx, trial.Setting{Env: append(call.Set, env)})
	if err == nil && !sample.OK() {
		// ctrl-C on a terminal goes to the go command as well, which may end before
		// folio hears of it.
		select {
		case <-ctx.Done():
		case <-time.After(300 * time.Millisecond):
			p.clear()
			_, err = a.stderr.Write(said.Bytes())
			return errors.Join(fmt.Errorf("the go command could not build it (%s)", sample.Failure), err)
		}
	}
	if ctx.Err() != nil {
		return errNothing
	}
	return err
}

// only returns the one file in a directory.
func only(dir string) (string, error) {
	files, err := os.ReadDir(dir)
	switch {
	case err != nil:
		return "", err
	case len(files) == 0:
		return "", errors.New("it is no program: want a package main")
	case len(files) > 1:
		return "", fmt.Errorf("it means %d programs, %s and %s among them: want one", len(files), files[0].Name(), files[1].Name())
	}
	return filepath.Join(dir, files[0].Name()), nil
}

// command returns the command line that runs the program, and the one that is shown,
// with its name for its path.
func (b *built) command(args []string) (run, show []string) {
	return append([]string{b.file}, args...), append([]string{filepath.Base(b.file)}, args...)
}

// record returns what the result says of the build.
func (b *built) record() *report.Build {
	out := &report.Build{Package: b.pkg}
	for _, p := range b.with.Record.Patches {
		out.Patches = append(out.Patches, p.Name+"@"+p.Hash)
	}
	return out
}

// remove removes the program.
func (b *built) remove() error {
	if b == nil {
		return nil
	}
	return b.scratch.remove()
}

// A scratch is a directory that is gone when folio ends, by a signal too.
type scratch struct {
	dir    string
	caught chan os.Signal
}

// scratches are those that are there.
var scratches = struct {
	sync.Mutex
	all map[*scratch]bool
}{all: make(map[*scratch]bool)}

// newScratch makes a directory where the go command makes its own.
func newScratch() (*scratch, error) {
	s := &scratch{caught: make(chan os.Signal, 1)}
	// No signal ends folio before the directory is removed: those who are told of
	// signals as well do what they ask for.
	notify(s.caught, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	var err error
	if s.dir, err = os.MkdirTemp(os.Getenv("GOTMPDIR"), "folio-build-"); err != nil {
		signal.Stop(s.caught)
		return nil, err
	}
	scratches.Lock()
	defer scratches.Unlock()
	scratches.all[s] = true
	return s, nil
}

func (s *scratch) remove() error {
	scratches.Lock()
	defer scratches.Unlock()
	if !scratches.all[s] {
		return nil
	}
	delete(scratches.all, s)
	defer signal.Stop(s.caught)
	return os.RemoveAll(s.dir)
}

// removeScratches is for the moment before folio ends out of order.
func removeScratches() {
	scratches.Lock()
	defer scratches.Unlock()
	for s := range scratches.all {
		_ = os.RemoveAll(s.dir)
	}
}
