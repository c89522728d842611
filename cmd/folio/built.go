package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/system/procmem"
)

// builder builds programs, and says on standard error how far it is.
func (a *app) builder() build.Builder {
	return build.Builder{Run: a.runGo, Stderr: a.stderr, Progress: newProgress(a.stderr).Show}
}

// orNothing is the error of a build: of one that a signal ended, that nothing was measured.
func orNothing(ctx context.Context, err error) error {
	if err == nil || ctx.Err() == nil {
		return err
	}
	left := slices.DeleteFunc(flatten(err), func(e error) bool { return errors.Is(e, ctx.Err()) })
	return errors.Join(append(left, errNothing)...)
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
		return "", ctx.Err()
	}
	return "", err
}

// build builds the program and begins the result.
func (s *session) build(ctx context.Context, a *app, src build.Source, how *build.Recipe, kind string, args []string) error {
	g := a.builder()
	b, err := g.Build(ctx, src, how)
	if err != nil {
		return orNothing(ctx, err)
	}
	if src.Test { // it runs where go test runs it
		if b.Dir, err = build.PackageDir(ctx, "", src.Package); err != nil {
			return errors.Join(err, b.Remove())
		}
	}
	command, show := b.Command(args)
	s.about(kind, show, b.File)
	s.built, s.program.Command, s.program.Patched, s.program.Dir = b, command, b.Patched(), b.Dir
	s.file.Program.Build = &result.Build{Package: b.Package, Test: b.Test, Patches: b.Patches()}
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
