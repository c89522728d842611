package leak

import (
	"cmp"
	"errors"
	"slices"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// Waiting is how many finalizers and cleanups of objects wait to be called, which keeps what
// the objects refer to: at the first and at the last reading, of all runtimes.
type Waiting struct {
	First, Last goruntime.Pending
}

// noCycles is what is not known of objects that a finalizer keeps for ever.
const noCycles = "objects in a cycle of references that has a finalizer are never freed: the runtime keeps no record that tells them from live objects, so none is named"

// readWaiting reads how many wait. It is nothing that a watch ends for.
func (w *watcher) readWaiting() {
	var sum goruntime.Pending
	for _, s := range w.sources {
		p, err := s.Target.Pending()
		switch {
		case errors.Is(err, goruntime.ErrInconsistent):
			return // another time
		case err != nil:
			w.note("finalizers and cleanups that wait are not counted: %v", err)
			return
		}
		sum = plus(sum, p)
	}
	if w.Waiting == nil {
		w.Waiting = &Waiting{First: sum}
	}
	w.Waiting.Last = sum
}

// plus adds those of another runtime. Cleanups are known where those of one are: before Go 1.25
// there are none that are not finalizers.
func plus(a, b goruntime.Pending) goruntime.Pending {
	a.Finalizers += b.Finalizers
	if b.Cleanups != nil {
		if a.Cleanups == nil {
			a.Cleanups = new(uint64)
		}
		a.Cleanups = new(*a.Cleanups + *b.Cleanups)
	}
	a.Functions = append(slices.Clone(a.Functions), b.Functions...)
	slices.SortStableFunc(a.Functions, func(x, y goruntime.PendingFunc) int { return cmp.Compare(y.Count, x.Count) })
	return a
}

// noteCycles says what is not known, where finalizers wait.
func (w *watcher) noteCycles() {
	if w.Waiting != nil && w.Waiting.Last.Finalizers > 0 {
		w.note(noCycles)
	}
}
