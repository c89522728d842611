package diagnose

import (
	"fmt"
	"io"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/internal/base/unit"
)

// A PendingReader reads what waits for its finalizer or cleanup.
type PendingReader interface {
	Pending() (goruntime.Pending, error)
	io.Closer
}

// fewestPending is how many must wait at both looks: a GC cycle may queue as many as it finds,
// and they are gone soon.
const fewestPending = 1000

func pendingSum(p goruntime.Pending) uint64 {
	if p.Cleanups != nil {
		return p.Finalizers + *p.Cleanups
	}
	return p.Finalizers
}

func lookFinalizers(f *Facts) ([]Finding, error) {
	p := f.Process
	r, err := p.Pending.get()
	if err != nil {
		return nil, err
	}
	before, after := pendingSum(r.Before), pendingSum(r.After)
	if min(before, after) < fewestPending {
		return nil, nil
	}
	if f.Watched <= 0 {
		return nil, errNotWatched
	}
	h := Finding{
		What: fmt.Sprintf("%s finalizers and cleanups wait to run.", unit.Count(float64(after))),
		Evidence: []Reading{p.runtime("%s waited at first, %s after %s", unit.Count(float64(before)), unit.Count(float64(after)),
			unit.Seconds(f.Watched.Seconds()))},
		Means: "Their objects, and all that these refer to, stay in memory until then. The runtime calls finalizers one after the other: if one of them blocks, or if they are slower than new ones come, memory grows.",
		Fix:   []Step{{Do: "See which function most of them call, and where one is blocked:", Code: fmt.Sprintf("folio leaks %d", p.PID)}},
	}
	if len(r.After.Functions) > 0 {
		x := r.After.Functions[0]
		h.Evidence = append(h.Evidence, p.runtime("%s of them call %s", unit.Count(float64(x.Count)), x.Func))
	}
	return []Finding{h}, nil
}
