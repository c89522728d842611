//go:build !linux

package trial

import (
	"context"
	"syscall"
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

var errNoExec error = syscall.ENOEXEC

// Run returns ErrNotSupported: what a trial measures comes from Linux.
func (p *Program) Run(context.Context, Setting, Request) (*Sample, error) {
	return nil, ErrNotSupported
}

// EndAll does nothing: no process was started.
func EndAll() {}

// Attach returns ErrNotSupported.
func Attach(context.Context, procmem.FS, int, int, time.Duration, Keep) (*Sample, error) {
	return nil, ErrNotSupported
}

// CPUTime returns the CPU time of a process.
func CPUTime(st procmem.Stat) time.Duration { return st.UTime + st.STime }

type execTree struct{}
