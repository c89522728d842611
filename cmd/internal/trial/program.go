package trial

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

// ErrNotSupported is returned where a trial cannot be measured: on systems
// other than Linux.
var ErrNotSupported = errors.New("measuring programs needs Linux")

// A Program runs a command as trials, and no trial changes it: what differs between two
// is in their settings and requests. One trial runs at a time in the whole process,
// because the orphans of two could not be told apart.
type Program struct {
	Command []string
	Env     []string // base environment; nil means that of this process
	Dir     string   // working directory; "" means that of this process

	// Stdin is what the program reads: nil means nothing (/dev/null). Input
	// names a file that is opened anew for every trial and comes before Stdin. Again
	// says that every trial reads Stdin, a file or a device, from its start.
	Stdin *os.File
	Again bool
	Input string
	// Stdout and Stderr receive the program's output. Nil means that it is not shown.
	Stdout, Stderr io.Writer
	// Direct has the program write to Stdout and Stderr itself where those are files: it keeps its
	// terminal. Then no figure is found in its output.
	Direct bool

	// ReadGC reads what the GC of Go programs counts (Go 1.21 and later). Of others the lines
	// of GODEBUG=gctrace=1 are counted, if Env asks for them.
	ReadGC bool
	// IsGo says that the command is a Go program.
	IsGo bool
	// Patched says that folio built the program with the patch heap-hugepages of
	// package overlay for these trials: THPHeap leaves it on, every other setting
	// turns it off, and the program is as Go would have built it.
	Patched bool
	// IgnoreExit lets trials count whatever the program's exit code.
	IgnoreExit bool
	// Metric is the figure to find in the output; Go benchmarks are always found.
	Metric *metric.Spec
	// MaxMemory ends a trial whose processes together hold more; 0 means no bound.
	MaxMemory uint64
	// Signals are passed on to the program. They do not end the trial.
	Signals <-chan os.Signal
	// Server, when set, makes the program a server under load.
	Server *Server
	// Cgroups, when set, has each trial run in a cgroup of its own, with its limits. A load
	// generator stays outside.
	Cgroups *cgroup.Parent
	// Container, without Cgroups, is the limit of the container that folio and the trials are in:
	// what is charged to it is read with the runtimes, for [Sample.Held].
	Container *procmem.Limit

	// FS reads the kernel's files; the zero value reads the real ones.
	FS procmem.FS

	// Heap is what THPHeap changes in the program; nil: each trial looks anew.
	Heap *Heap
}

// A Request says what one trial samples and keeps, and how long it may take. The zero
// value asks for nothing but the figures that every trial has.
type Request struct {
	// Profile is how often a second to sample where the CPU time goes; 0
	// for not at all.
	Profile int
	// Keep says what else stays of the samples of CPU time.
	Keep Keep
	// KeepSeries keeps the memory over time, in Sample.Series.
	KeepSeries bool
	// KeepWaterfall reads the parts of the memory near its peak, into Sample.Waterfall.
	KeepWaterfall bool
	// Delays works out what delays the slow requests of a load by folio.
	Delays bool
	// Timeout ends a trial that takes longer; 0 means no bound.
	Timeout time.Duration
}

// Of returns what the next trial of an arm asks for, of all that r does. Whether its CPU
// time is sampled is the caller's to say. Over time one trial that counts is enough, and of
// a warm-up, round 0, nobody looks at that or at delays.
func (r Request) Of(arm *Arm, round int, sampled bool) Request {
	if !sampled {
		r.Profile = 0
	}
	r.KeepSeries = r.KeepSeries && round > 0 && arm.WantsSeries()
	r.Delays = r.Delays && round > 0
	return r
}

// Of returns a program that runs another file as p does; patched says whether that has the
// patch of Patched.
func (p *Program) Of(command []string, patched bool) *Program {
	out := *p
	out.Command, out.Patched, out.Heap = command, patched, ReadHeap(command[0])
	return &out
}

// A StartError says that a command could not be started at all.
type StartError struct {
	Command string
	Err     error
}

func (e *StartError) Error() string {
	switch {
	case errors.Is(e.Err, exec.ErrNotFound):
		return fmt.Sprintf("%s: command not found: check the name, or give its path", e.Command)
	case errors.Is(e.Err, exec.ErrDot):
		return fmt.Sprintf("%s: it is in the current directory: write ./%s", e.Command, e.Command)
	case errors.Is(e.Err, os.ErrPermission) && closedDir(e.Command) != "":
		return fmt.Sprintf("%s: permission denied: folio's user may not enter %s", e.Command, closedDir(e.Command))
	case errors.Is(e.Err, os.ErrPermission):
		return fmt.Sprintf("%s: permission denied: is it a file that may be executed? (chmod +x)", e.Command)
	case errors.Is(e.Err, errNoExec):
		return fmt.Sprintf("%s: not a program for this machine (a script needs a #! line)", e.Command)
	case errors.Is(e.Err, syscall.EISDIR):
		return fmt.Sprintf("%s: it is a directory: give the path of a program in it", e.Command)
	case errors.Is(e.Err, errNoLoader):
		return fmt.Sprintf("%s: %v", e.Command, e.Err)
	case errors.Is(e.Err, os.ErrNotExist):
		return fmt.Sprintf("%s: no such file", e.Command)
	}
	return fmt.Sprintf("%s: %v", e.Command, e.Err)
}

// closedDir is the first directory of a path that this process may not enter; "" for none.
func closedDir(path string) string {
	for i, c := range path {
		if dir := path[:i]; c == filepath.Separator && dir != "" {
			if _, err := os.Stat(dir + "/."); errors.Is(err, os.ErrPermission) {
				return dir
			}
		}
	}
	return ""
}

func (e *StartError) Unwrap() error { return e.Err }

// NotFound says that there is no such command, rather than one that cannot be run.
func (e *StartError) NotFound() bool {
	return errors.Is(e.Err, exec.ErrNotFound) || errors.Is(e.Err, exec.ErrDot) ||
		errors.Is(e.Err, os.ErrNotExist) && !errors.Is(e.Err, errNoLoader)
}

// errNoLoader says that the command is there, but not the interpreter that it
// names. The kernel's error is the same as for a command that is not there.
var errNoLoader = fmt.Errorf("its interpreter: %w", os.ErrNotExist)

// A loaderError is an errNoLoader that says which interpreter.
type loaderError struct {
	path   string // "" if it is not known
	script bool
}

// noLoader finds out which interpreter of a command does not exist.
func noLoader(command string) error {
	e := &loaderError{}
	path, err := exec.LookPath(command)
	if err != nil {
		return e
	}
	if f, info, err := input.Open(path); err == nil {
		e.path, e.script = executable.Interpreter(f, info.Size())
		_ = f.Close()
	}
	return e
}

func (e *loaderError) Error() string {
	switch {
	case e.path == "":
		return "its interpreter does not exist: check the #! line of a script, or the C library of a program"
	case e.script:
		return fmt.Sprintf("its interpreter (%s) does not exist: check its #! line", e.path)
	}
	return fmt.Sprintf("its dynamic loader (%s) does not exist: install the C library that it was built for, or link it statically (CGO_ENABLED=0)", e.path)
}

func (e *loaderError) Unwrap() error { return errNoLoader }

// LookPath finds a command as exec.LookPath does. Its errors are a [StartError]: a
// directory, or a file in PATH that may not be executed, is there and cannot be run.
func LookPath(command string) (string, error) {
	path, err := exec.LookPath(command)
	if errors.Is(err, exec.ErrNotFound) && !strings.ContainsRune(command, filepath.Separator) {
		err = unrunnable(command, err)
	}
	if err == nil {
		return path, nil
	}
	if e, ok := errors.AsType[*exec.Error](err); ok {
		err = e.Err
	}
	return path, &StartError{Command: command, Err: err}
}

// unrunnable looks again for a command that was not found in PATH.
func unrunnable(command string, notFound error) error {
	if command == "." || command == ".." {
		return syscall.EISDIR
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		if info, err := os.Stat(filepath.Join(dir, command)); err == nil && command != "" && !info.IsDir() {
			return os.ErrPermission
		}
	}
	return notFound
}

// NotExecuted is the [StartError] of a command that was found, from what execve said.
func NotExecuted(command string, err error) error {
	if errors.Is(err, os.ErrNotExist) {
		err = noLoader(command)
	}
	return &StartError{Command: command, Err: err}
}

// Check says whether the command can be found, before anything is measured.
func (p *Program) Check() error {
	if len(p.Command) == 0 {
		return errors.New("no command given")
	}
	if _, err := LookPath(p.Command[0]); err != nil {
		return err
	}
	return CheckInput(p.Input)
}

// CheckInput says whether the file of Program.Input can be read.
func CheckInput(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("--input %w", err)
	}
	return f.Close()
}

func (p *Program) environ() []string {
	if p.Env != nil {
		return p.Env
	}
	return os.Environ()
}
