//go:build linux && (amd64 || arm64)

package trial

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"

	"github.com/foliomem/folio/internal/program/codepatch"
	"github.com/foliomem/folio/internal/program/launch"
	"github.com/foliomem/folio/internal/system/spawn"
)

// A heapPatch is what is known of a program's heap.
type heapPatch struct {
	known   bool
	program *launch.Program
	err     error
}

func (p *Program) mayHeap() error {
	if _, err := p.heapAtExec(); err != nil {
		return err
	}
	if err := MayTrace(); err != nil {
		return p.heapError(err)
	}
	return nil
}

// MayTrace says why no program can be stopped at its exec here, with an error that is
// ErrUntraced where that is denied.
func MayTrace() error {
	if err := spawn.MayTrace(); err != nil {
		return untraced(err)
	}
	return nil
}

// heapAtExec returns what is to be done when the program is stopped at its exec; nil
// and ErrOwnHeap for nothing. The program is looked at once: should it change between
// trials, the next one is an error.
func (p *Program) heapAtExec() (func(pid int) error, error) {
	h := &p.heap
	if !h.known {
		h.program, h.err = p.readHeap()
		h.known = true
	}
	if h.err != nil {
		return nil, p.heapError(h.err)
	}
	return func(pid int) error {
		if err := h.program.Apply(pid); err != nil {
			return p.heapError(err)
		}
		return nil
	}, nil
}

func (p *Program) readHeap() (*launch.Program, error) {
	path, err := exec.LookPath(p.Command[0])
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, err
	}
	program, err := launch.Prepare(path)
	var refused *codepatch.RefusedError
	if errors.As(err, &refused) && refused.Kind == codepatch.Patched {
		return nil, ErrOwnHeap
	}
	return program, err
}

// untraced explains why a program could not be stopped at its exec.
func untraced(err error) error {
	var trace *spawn.TraceError
	var errno syscall.Errno
	if errors.As(err, &trace) && errors.As(trace.Err, &errno) {
		return fmt.Errorf("%s; %w", launch.WhyDenied(errno), ErrUntraced)
	}
	return err
}
