package thrash

import (
	"errors"
	"fmt"

	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/internal/base/unit"
)

// raise raises the memory limit of the process, as folio set does: for good. What is refused is
// said; it is tried again after the effective GOGC was high enough meanwhile.
func (w *watched) raise() error {
	limit, after, err := w.tryRaise()
	switch {
	case err != nil:
		return w.say("%v: GOMEMLIMIT was not raised", err)
	case after == limit:
		return nil // it was said
	}
	w.raised += after - limit
	w.reset()
	for _, text := range w.SayChange(livegc.Change{Limit: new(int64(after))}) {
		err = errors.Join(err, w.say("%s", text))
	}
	return err
}

// tryRaise raises the limit, and returns it before and after.
func (w *watched) tryRaise() (limit, after uint64, err error) {
	if err := w.Hold(); err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, w.Release()) }()
	s, err := w.State()
	if err != nil {
		return 0, 0, err
	}
	limit = uint64(s.Limit)
	if w.first == 0 {
		w.first = limit
	}
	bound := w.Then.bound(w.first)
	if w.raised >= bound {
		return limit, limit, w.sayOf(": GOMEMLIMIT=%s is not raised again: it was by %s (--then %s)", unit.Exact(limit), unit.Exact(w.raised), w.Then)
	}
	fit, err := w.fit()
	if err != nil {
		return 0, 0, err
	}
	after = min(limit+bound-w.raised, fit.Fits)
	if after <= limit {
		return limit, limit, w.sayOf(": GOMEMLIMIT=%s cannot be raised: %s fit into %s: %s", unit.Exact(limit), unit.Size(fit.Fits), fit.Level, fit.Reason())
	}
	if err := w.Plan(livegc.Change{Limit: new(int64(after))}); err != nil {
		return 0, 0, err
	}
	return limit, after, livegc.SetAll([]*livegc.Process{w.Process}, nil)
}

// fit is which limit fits into the container of the process, or into what the machine has.
func (w *watched) fit() (f memlimit.Fit, err error) {
	failed := func(err error) error { return fmt.Errorf("process %d (%s): %w", w.PID, w.Name, err) }
	heap, err := w.Heap()
	if err != nil {
		return f, failed(err)
	}
	status, err := w.FS.Status(w.PID)
	if err != nil || status.RssAnon == nil || status.VmRSS == nil {
		return f, failed(errors.Join(err, errors.New("its RSS is not known")))
	}
	own := memlimit.OfState(w.PID, w.Name, heap, *status.RssAnon)
	outside := *status.VmRSS - min(*status.VmRSS, own.Resident)
	l, ok, err := w.FS.MemoryLimit(w.PID)
	if err != nil {
		return f, failed(err)
	}
	if ok {
		return memlimit.NewContainer(l).Fit(own, outside, memlimit.Others(w.FS, l.Group, w.PID)...), nil
	}
	m, err := w.FS.Meminfo()
	if err != nil || m.MemTotal == nil || m.MemAvailable == nil {
		return f, failed(errors.Join(err, errors.New("the memory of the machine is not known")))
	}
	fixed := *m.MemTotal - min(*m.MemTotal, *m.MemAvailable)
	return memlimit.Container{Limit: *m.MemTotal, Level: "the machine", Fixed: &fixed}.Fit(own, outside), nil
}
