package history

import (
	"context"
	"errors"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/cmd/internal/process/waterfall"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Watch reads one process again and again.
type Watch struct {
	History
	Process  *inspect.Watcher
	Every    time.Duration
	Duration time.Duration // 0: until the context or the process ends
	Look     bool          // each reading looks at all, as the last one does
	Show     func(first bool) error

	Last *inspect.Process // nil: nothing was read
	Over string           // what the process did that ends the readings
}

// Run reads until it is over.
func (w *Watch) Run(ctx context.Context) error {
	if w.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Duration)
		defer cancel()
	}
	for {
		begin := time.Now()
		read := w.Process.Read
		if w.Look {
			read = w.Process.Look
		}
		p, err := read()
		switch {
		case err == nil:
			first := w.Last == nil
			w.keep(p)
			if err := w.Show(first); err != nil {
				return err
			}
		case ctx.Err() != nil && w.Last != nil:
			return nil
		case w.Last != nil && w.gone(err):
			return nil
		case errors.Is(err, procmem.ErrMainThread) && w.Last != nil:
			// Its threads end one after the other: nothing is to be seen until the last.
		default:
			return inspect.Failed(w.Process.PID(), err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(w.Every - time.Since(begin)):
		}
	}
}

// gone says of an error of reading whether the process ended, or is another program now:
// what was read until then stays.
func (w *Watch) gone(err error) bool {
	switch {
	case errors.Is(err, waterfall.ErrExec):
		w.Over = "began another program: readings end there"
	case errors.Is(err, procmem.ErrNoProcess):
		w.Over = "has ended"
	default:
		return false
	}
	return true
}

// keep adds a reading to the history.
func (w *Watch) keep(p *inspect.Process) {
	minor, major := w.Process.Total()
	w.Add(p, minor, major)
	w.Last = p
}

// Finish looks once more, and counts page faults since the beginning.
func (w *Watch) Finish() error {
	if w.Over == "" {
		if p, err := w.Process.Look(); err == nil {
			w.keep(p)
		} else if !w.gone(err) && !errors.Is(err, procmem.ErrMainThread) {
			return inspect.Failed(w.Process.PID(), err)
		}
	}
	if all := w.Process.Since(); all != nil {
		w.Last.Faults = all // not since the look before
	}
	return nil
}
