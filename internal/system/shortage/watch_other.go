//go:build !linux

package shortage

import (
	"context"
	"errors"

	"github.com/foliomem/folio/internal/system/procmem"
)

// A Watch waits for one cgroup, or for those of a process, or for the machine.
type Watch struct{}

// Process and Group are not supported.
func Process(procmem.FS, int) (*Watch, error)  { return nil, errors.ErrUnsupported }
func Group(procmem.FS, string) (*Watch, error) { return nil, errors.ErrUnsupported }

func (w *Watch) Close() error                        { return nil }
func (w *Watch) Limits() []Limit                     { return nil }
func (w *Watch) Wait(context.Context) (Event, error) { return Event{}, errors.ErrUnsupported }
