// Package command is what folio-agent and folio-fleet share as commands: help, errors in
// one line, exit codes, logs.
package command

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/internal/base/console"
)

// Exit codes, those of folio.
const (
	OK          = 0
	Failure     = 1
	Misuse      = 2
	Interrupted = 130
)

// Root makes the command that has others: without arguments it prints its help.
func Root(name, short, long string, stdout, stderr io.Writer, commands ...*cobra.Command) *cobra.Command {
	root := &cobra.Command{
		Use: name, Short: short, Long: long, Version: Version(),
		SilenceUsage: true, SilenceErrors: true,
		Args: usage.OnlyCommands,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetOut(stdout)
	root.SetErr(stderr)
	root.SetVersionTemplate(name + " {{.Version}}\n")
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(commands...)
	usage.Strict(root)
	return root
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
	var misuse *usage.Error
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
		return nil, usage.Errorf("--log-level %q: want debug, info, warn or error", level)
	}
	opts := &slog.HandlerOptions{Level: l}
	switch format {
	case "text":
		return slog.New(slog.NewTextHandler(w, opts)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opts)), nil
	}
	return nil, usage.Errorf("--log-format %q: want text or json", format)
}
