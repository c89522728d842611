package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/program/build"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
)

// A workplace is the directory in which a go command works: what it leaves when a signal
// ends it goes with the directory. It is made when it is asked for, where the go
// command would have its own.
type workplace struct{ dir *scratch.Dir }

func (w *workplace) make(base string) (string, error) {
	if w.dir == nil {
		var err error
		if w.dir, err = scratch.New(base); err != nil {
			return "", err
		}
	}
	return w.dir.Path, nil
}

func (w *workplace) remove() error {
	if w.dir == nil {
		return nil
	}
	return w.dir.Remove()
}

// goCommand runs a go command as if folio were not there: its input, its output, its
// terminal and its exit code are its own, and it is told of signals.
func (a *app) goCommand(ctx context.Context, g overlay.GoCommand) (err error) {
	var w workplace
	defer func() { err = errors.Join(err, w.remove()) }()
	g.Temp = w.make
	signals, unheard := heard()
	defer unheard()
	early, stop := interruptible(ctx)
	o, call, err := g.Prepare(early)
	interrupted := early.Err() != nil
	stop()
	var refused *overlay.RefusedError
	switch {
	case interrupted:
		return exitCode(exitInterrupted)
	case errors.As(err, &refused):
		return err
	case err != nil:
		return fmt.Errorf("%s: %w", g.Args[0], err)
	}
	if o.Note != "" {
		_ = a.stderr.Line("folio: note: %s", o.Note)
	}
	_ = a.stderr.Line("folio: %s with %s: %s", o.Toolchain, o.Record, filesOf(o))
	for _, p := range o.Patches {
		if idle := p.Idle(o.Toolchain); idle != "" {
			_ = a.stderr.Line("folio: %s %s", p.Name, idle)
		}
	}
	cmd := call.Cmd(context.Background())
	cmd.Stdout, cmd.Stderr = a.stdout.Raw(), a.stderr.Raw()
	if a.stdin != nil {
		cmd.Stdin = a.stdin
	}
	_, err = build.RunTold(cmd, signals)
	return ended(call.Path, err)
}

// heard returns the signals that a command is told of, from now on.
func heard() (signals chan os.Signal, stop func()) {
	signals = make(chan os.Signal, 8)
	notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	return signals, func() { signal.Stop(signals) }
}

// ended returns how a command ended, as an exit code once it ran.
func ended(path string, err error) error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &exit):
		return fmt.Errorf("start %s: %w", path, err)
	}
	if s, ok := exit.Sys().(syscall.WaitStatus); ok && s.Signaled() {
		return exitCode(128 + int(s.Signal()))
	}
	return exitCode(exit.ExitCode())
}
