// Package command is what folio-agent and folio-fleet share as commands: help, errors in
// one line, exit codes, logs.
package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/internal/base/console"
)

// Exit codes, those of folio.
const (
	OK          = 0
	Failure     = 1
	Misuse      = 2
	Interrupted = 130
)

// A MisuseError is a mistake in the command line.
type MisuseError struct{ Err error }

func (e *MisuseError) Error() string { return e.Err.Error() }
func (e *MisuseError) Unwrap() error { return e.Err }

// Misusef makes a MisuseError.
func Misusef(format string, args ...any) error { return &MisuseError{fmt.Errorf(format, args...)} }

// Root makes the command that others are added to: without arguments it prints its help,
// an unknown word is a mistake.
func Root(name, short, long string, stdout, stderr io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use: name, Short: short, Long: long, Version: Version(),
		SilenceUsage: true, SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return Misusef("unknown command %s: see '%s --help'", args[0], cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate(name + " {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return &MisuseError{err} })
	root.CompletionOptions.HiddenDefaultCmd = true
	return root
}

// NoArgs refuses arguments.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return Misusef("%s takes no arguments: got %s", cmd.CommandPath(), args[0])
	}
	return nil
}

// Version is what the module system says that this is.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// Main runs a command line until it is done, or a signal ends it, and returns the exit
// code. Everything printed passes the console, which escapes what comes from outside.
func Main(name string, args []string, newRoot func(stdout, stderr io.Writer) *cobra.Command) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, name, args, os.Stdout, os.Stderr, newRoot)
}

// Run is Main with streams and a context of the caller.
func Run(ctx context.Context, name string, args []string, out, errs io.Writer, newRoot func(stdout, stderr io.Writer) *cobra.Command) int {
	stdout, stderr := console.New(out), console.New(errs)
	root := newRoot(stdout, stderr)
	root.SetArgs(args)
	err := errors.Join(root.ExecuteContext(ctx), stdout.Flush())
	defer stderr.Flush()
	if err == nil {
		return OK
	}
	_ = stderr.Line("%s: %s", name, strings.ReplaceAll(err.Error(), "\n", "; "))
	var misuse *MisuseError
	switch {
	case errors.As(err, &misuse):
		return Misuse
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		return Interrupted
	}
	return Failure
}

// Logger makes the log of a command: lines of text, or of JSON, on w.
func Logger(w io.Writer, format, level string) (*slog.Logger, error) {
	var l slog.Level
	if err := l.UnmarshalText([]byte(level)); err != nil {
		return nil, Misusef("--log-level %q: want debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, Misusef("--log-format %q: want text or json", format)
}
