// Command folio finds the time that a Go program loses to memory, and gives it
// back. Run "folio help" for its commands.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/foliomem/folio/cmd/internal/base/scratch"
	"github.com/foliomem/folio/cmd/internal/base/terminal"
	"github.com/foliomem/folio/cmd/internal/base/usage"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/program/overlay"
	"github.com/foliomem/folio/cmd/internal/result"
	"github.com/foliomem/folio/cmd/internal/result/diagnose"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/internal/base/console"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Exit codes. A program that is run once passes its own code on instead.
const (
	exitOK          = 0
	exitFailure     = 1   // what was asked for could not be done
	exitMisuse      = 2   // it was asked for in the wrong way
	exitNoisy       = 3   // folio ab: the machine was too noisy for --fail-if
	exitCannotRun   = 126 // the program to measure cannot be executed
	exitNotFound    = 127 // or is not found, as shells say
	exitInterrupted = 130
	exitPipe        = 141 // nobody reads standard output any more
)

func main() {
	vetTool(os.Args[1:])
	os.Exit(realMain())
}

// ownLimit is more than folio takes of all but the largest results: those have at most 512 MiB.
const ownLimit = 320 << 20

func realMain() int {
	// A bug in folio must not leave the measured program running.
	defer func() {
		if v := recover(); v != nil {
			trial.EndAll()
			scratch.RemoveAll()
			panic(v)
		}
	}()
	// The start leaves some 4 MiB, and each cycle takes a processor from the program. What the
	// environment says is meant for that. A large result has cycles more often.
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(ownLimit)
	stderr := console.New(os.Stderr)
	code := exit(stderr, run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, stderr))
	_ = stderr.Flush()
	return code
}

// run executes a command line.
func run(ctx context.Context, args []string, stdin *os.File, stdout, stderr io.Writer) error {
	a := &app{stdin: stdin, stdout: console.New(stdout), stderr: console.New(stderr)}
	cmd := newRoot(a)
	usage.Complete(cmd, args, func() []string { return livegc.Offer(procmem.New("")) },
		map[string]func() []string{"skip": diagnose.Completions, "patch": overlay.Completions})
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(ctx)
	return errors.Join(err, a.stdout.Flush())
}

// exit prints an error, in one line unless it goes to a terminal, and returns the exit code for it. An exit
// code that comes with errors does not hide them.
func exit(stderr io.Writer, err error) int {
	if err == nil {
		return exitOK
	}
	if text := message(err); text != "" {
		for _, l := range usage.Message(text, result.ShellLine(os.Args[1:]), terminal.Columns(stderr)) {
			_ = console.New(stderr).Line("%s", l)
		}
	}
	var code exitCode
	if errors.As(err, &code) {
		return int(code)
	}
	var misuse *usage.Error
	switch {
	case errors.As(err, &misuse):
		return exitMisuse
	case message(err) == "":
		return exitPipe
	}
	var start *trial.StartError
	switch {
	case !errors.As(err, &start):
		return exitFailure
	case start.NotFound():
		return exitNotFound
	}
	return exitCannotRun
}

// message is an error in one line, "" if there is nothing to say. A closed output pipe (as with
// head) is not an error.
func message(err error) string { return texts(err, false) }

// texts is the errors of err in one line, with those that the result shows if all.
func texts(err error, all bool) string {
	var said []string
	for _, e := range flatten(err) {
		if _, shown := e.(shownError); errors.Is(e, syscall.EPIPE) || shown && !all {
			continue
		}
		text := oneLine(withoutCall(e))
		if _, quiet := e.(exitCode); !quiet && !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return strings.Join(said, "; ")
}

// withoutCall is the text of an error without the system call that failed to read a file.
func withoutCall(err error) string {
	text := err.Error()
	var file *fs.PathError
	if errors.As(err, &file) && slices.Contains([]string{"open", "stat", "lstat", "read"}, file.Op) {
		text = strings.Replace(text, file.Error(), file.Path+": "+file.Err.Error(), 1)
	}
	return text
}

// oneLine joins the lines of what another command said, which may be indented.
func oneLine(text string) string {
	var lines []string
	for l := range strings.Lines(text) {
		if l = strings.TrimSpace(l); l != "" {
			lines = append(lines, l)
		}
	}
	return strings.Join(lines, "; ")
}

// reason is what a result says of why it failed, "" if it did not.
func reason(err error) string {
	if err == nil {
		return ""
	}
	var code exitCode
	text := texts(err, true)
	if text == "" && errors.As(err, &code) && code == exitInterrupted {
		return "interrupted"
	}
	return text
}

// flatten returns the errors that were joined into err.
func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var out []error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}

// misuse says that an error is a mistake in the command line. A file that cannot be read is not.
func misuse(err error) error {
	var file *fs.PathError
	if err == nil || errors.As(err, &file) {
		return err
	}
	return &usage.Error{Err: err}
}

func misusef(format string, args ...any) error { return misuse(fmt.Errorf(format, args...)) }

// A shownError is in the result that was printed, and no line of its own.
type shownError struct{ error }

// inResult is a failure of the program that the result shows.
func inResult(err error) error { return errors.Join(shownError{err}, exitCode(exitFailure)) }

// An exitCode ends folio without a message: all has been said.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }
