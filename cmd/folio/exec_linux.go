//go:build linux && (amd64 || arm64)

package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/procmem"
)

func init() {
	if len(os.Args) > 1 && os.Args[1] == "exec" {
		// The process's first thread becomes the program: what its parent has
		// set for it alone (PR_SET_PDEATHSIG) stays.
		runtime.LockOSThread()
		// There is nothing to collect in the milliseconds that are left, and
		// GODEBUG=gctrace=1 is meant for the program.
		debug.SetGCPercent(-1)
	}
}

// exec becomes the program.
func (a *app) exec(f *execFlags, args []string) error {
	inherited, _ := launch.ReadInherited() // what is not known stays as it is now
	r, err := f.request(args)
	if err != nil {
		return err
	}
	if err := r.find(); err != nil {
		return err
	}
	r.say(r.note)
	env := launch.Environment()
	if r.off {
		return r.failed(launch.Exec(r.path, r.args, env, inherited))
	}
	env = r.setting.Environ(env)
	if !r.heap {
		return r.failed(launch.Exec(r.path, r.args, env, inherited))
	}
	if r.wholeTree || r.verbose {
		return r.tree(env, inherited)
	}
	return r.patched(env, inherited, true)
}

// patched becomes the program with its heap on huge pages; aloud says why not.
func (r *launchRequest) patched(env []string, inherited launch.Inherited, aloud bool) error {
	asIs := func(why error) {
		if aloud {
			r.say(r.args[0] + " runs unchanged: " + why.Error())
		}
	}
	p, err := r.prepare(env)
	var refused *codepatch.RefusedError
	if errors.As(err, &refused) && (refused.Kind == codepatch.NotELF || refused.Kind == codepatch.NotGo) && !r.wholeTree {
		err = fmt.Errorf("%w; for the Go programs that it starts: folio exec --tree -- %s", err, result.ShellLine(r.args))
	}
	switch {
	case errors.As(err, &refused) && refused.Kind == codepatch.Patched:
		return r.failed(launch.Exec(r.path, r.args, env, inherited)) // by folio patch
	case err != nil && r.strict:
		return r.strictly(err)
	case err != nil:
		asIs(err)
		return r.failed(launch.Exec(r.path, r.args, env, inherited))
	}
	err = p.Exec(r.args, env, launch.ExecOptions{Inherited: inherited, Strict: r.strict, AsIs: asIs})
	var attach *launch.AttachError
	if errors.As(err, &attach) {
		return r.strictly(err)
	}
	return r.failed(err)
}

// prepare looks at the program and what it will find.
func (r *launchRequest) prepare(env []string) (*launch.Program, error) {
	if err := r.mayHuge(env); err != nil {
		return nil, err
	}
	return launch.Prepare(r.path)
}

func (r *launchRequest) mayHuge(env []string) error { return trial.WhyHugeOff(procmem.New(""), env) }

func (r *launchRequest) strictly(why error) error {
	return errors.Join(errors.New("exec: --strict: "+r.args[0]+" was not started: "+why.Error()), exitCode(exitCannotRun))
}

// say writes a line to standard error. It does not go through package os, which
// ends the process if nobody reads it any more.
func (r *launchRequest) say(line string) {
	if line != "" {
		_, _ = unix.Write(2, []byte("folio: exec: "+console.Line(strings.ReplaceAll(line, "\n", "; "))+"\n"))
	}
}
