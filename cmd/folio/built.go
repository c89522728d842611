package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/foliomem/folio/internal/base/scratch"
	"github.com/foliomem/folio/internal/program/overlay"
	"github.com/foliomem/folio/internal/result"
	"github.com/foliomem/folio/internal/system/procmem"
	"github.com/foliomem/folio/internal/trial"
)

// A built program is one that folio built itself for --build. Its file is there until
// remove.
type built struct {
	file string
	pkg  string // what it was built from
	with *overlay.Overlay

	scratch *scratch.Dir
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
	if b.scratch, err = scratch.New(toolchain.Temp); err != nil {
		return nil, fmt.Errorf("--build %s: %w", pkg, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.remove())
		}
	}()
	progress := newProgress(a.stderr)
	defer progress.clear()
	progress.line("building " + pkg + " with " + overlay.HeapHugePages + " (the first time with the standard library, about a minute)")

	work, bin := filepath.Join(b.scratch.Path, "work"), filepath.Join(b.scratch.Path, "bin")
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
	temp := func(string) (string, error) { return work, nil }
	if b.with, call, err = (overlay.GoCommand{Patches: patches, Args: args, Temp: temp}).Prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil, errNothing
		}
		return nil, fmt.Errorf("--build %s: %w", pkg, err)
	}
	if b.with.Note != "" {
		progress.clear()
		_ = a.stderr.Line("folio: note: --build %s: %s", pkg, b.with.Note)
	}
	if err := a.runGo(ctx, call, progress); err != nil {
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
func (a *app) runGo(ctx context.Context, call overlay.Call, p *progress) error {
	var said bytes.Buffer
	program := &trial.Program{Command: append([]string{call.Path}, call.Args...), Dir: call.Dir, FS: procmem.New(""), Stderr: &said}
	sample, err := program.Run(ctx, trial.Setting{Env: call.Set})
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
func (b *built) record() *result.Build {
	out := &result.Build{Package: b.pkg}
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
	return b.scratch.Remove()
}
