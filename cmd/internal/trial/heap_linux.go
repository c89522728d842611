//go:build linux && (amd64 || arm64)

package trial

import (
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"syscall"

	"github.com/foliomem/folio/cmd/internal/program/codepatch"
	"github.com/foliomem/folio/cmd/internal/program/launch"
	"github.com/foliomem/folio/internal/system/spawn"
)

// A Heap is what THPHeap changes in a program.
type Heap struct {
	read func() (*launch.Program, error)
}

// ReadHeap looks at a command, when that is first asked for. Trials of a program whose file is
// then another are errors.
func ReadHeap(command string) *Heap {
	return &Heap{sync.OnceValues(func() (*launch.Program, error) {
		path, err := exec.LookPath(command)
		if err != nil && !errors.Is(err, exec.ErrDot) {
			return nil, err
		}
		program, err := launch.Prepare(path)
		var refused *codepatch.RefusedError
		if errors.As(err, &refused) && refused.Kind == codepatch.Patched {
			err = ErrOwnHeap
		}
		return program, err
	})}
}

// heap is what THPHeap changes in the command.
func (p *Program) heap() (*launch.Program, error) {
	if p.Heap == nil {
		return ReadHeap(p.Command[0]).read()
	}
	return p.Heap.read()
}

func (p *Program) mayHeap() error {
	if _, err := p.heapAtExec(); err != nil && (!isNotGo(err) || SeesTree() != nil) {
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
// and ErrOwnHeap for nothing.
func (p *Program) heapAtExec() (func(pid int) error, error) {
	program, err := p.heap()
	if err != nil {
		return nil, p.heapError(err)
	}
	return func(pid int) error {
		if err := program.Apply(pid); err != nil {
			return p.heapError(err)
		}
		return nil
	}, nil
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
