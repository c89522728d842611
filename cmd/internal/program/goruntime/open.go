package goruntime

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/foliomem/folio/internal/base/input"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Process is an open process whose runtime can be read.
type Process struct {
	*Reader
	io.Closer
}

// Open prepares to read a process of this version of Go. A process of another
// user needs the right to ptrace it (CAP_SYS_PTRACE). What can be read of a
// process that is opened stays that of this process: its number may be given to
// another one, its open memory is not.
func Open(fs procmem.FS, pid int, version string) (*Process, error) {
	exe, info, err := input.Open(fs.ExePath(pid))
	if err != nil {
		return nil, err
	}
	defer exe.Close()
	l, err := ReadLayout(exe, info.Size())
	if err != nil {
		return nil, err
	}
	entry, err := fs.Entry(pid, l.word)
	if err != nil {
		return nil, err
	}
	mem, err := os.Open(fs.MemPath(pid))
	if errors.Is(err, os.ErrPermission) {
		// More is needed than for the files before, which the same user may read.
		return nil, &deniedError{err, fs.Denied(pid)}
	}
	if err != nil {
		return nil, err
	}
	r, err := NewReader(l, mem, entry, version)
	if err != nil {
		mem.Close()
		return nil, fmt.Errorf("read the runtime of process %d: %w", pid, err)
	}
	return &Process{r, mem}, nil
}

// A StateReader reads the state of an open process.
type StateReader interface {
	Read() (State, error)
	Close() error
}

// OpenState opens the runtime of a process of this version of Go: by its debug information,
// or, where it is stripped, by the table of Go versions.
func OpenState(fs procmem.FS, pid int, version string) (StateReader, error) {
	r, err := Open(fs, pid, version)
	if errors.Is(err, ErrNoDebugInfo) {
		t, terr := Attach(fs, pid)
		if terr != nil {
			return nil, fmt.Errorf("%w, and %w", err, terr)
		}
		return stated{t}, nil
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}

// stated reads the state of a target.
type stated struct{ *Target }

func (s stated) Read() (State, error) { return s.State() }

// deniedError is for memory that may not be read, although its owner asks.
type deniedError struct {
	err error
	why string
}

func (e *deniedError) Error() string { return fmt.Sprintf("%s: %v", e.why, e.err) }
