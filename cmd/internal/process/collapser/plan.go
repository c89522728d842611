package collapser

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/system/page"
)

// DefaultRate is that of folio collapse, in bytes a second. It keeps the stalls of the program
// rare: see docs/collapse.md.
const DefaultRate = 128 << 20

// Options say what to collapse.
type Options struct {
	// MinDensity is the share of a window's base pages that must be resident, from
	// inspect.LeastDensity to 1. Default: inspect.MinDensity.
	MinDensity float64
	// Budget is how many bytes to put on huge pages at most, all passes together.
	// Default: no bound.
	Budget uint64
	// Rate is how many bytes a second to put on huge pages at most. Default: no bound.
	Rate uint64
	// All takes all private anonymous memory, of any program. Default: the heap of a
	// Go program.
	All bool
}

func (o Options) withDefaults() (Options, error) {
	if o.MinDensity == 0 {
		o.MinDensity = inspect.MinDensity
	}
	if !(o.MinDensity >= inspect.LeastDensity && o.MinDensity <= 1) {
		return o, fmt.Errorf("density %v: want %v to 1: a window less than half full is never collapsed, it would more than double",
			o.MinDensity, inspect.LeastDensity)
	}
	return o, nil
}

// A Plan is what to do about the windows of a process.
type Plan struct {
	Todo []page.Window // the densest first, then by address

	Already    int // huge
	Sparse     int // less dense than is asked for
	OptedOut   int // the program advised against huge pages there
	OverBudget int // beyond the budget
	Deferred   int // refused, or released, a short while ago

	Bytes uint64 // of Todo, when they are huge pages
	Fill  uint64 // of Bytes: what is not resident now, by which memory grows
}

// NewPlan sorts windows into what is to be collapsed and what is not. noHuge are the
// ranges that are advised against, ascending; later says of a window that it is
// not its time.
func NewPlan(windows []page.Window, o Options, noHuge []page.Range, later func(page.Window) bool) Plan {
	var p Plan
	for _, w := range windows {
		switch {
		case w.Resident == 0:
		case w.Huge == uint64(w.Range.Len()):
			p.Already++
		case later != nil && later(w):
			p.Deferred++
		case w.Density() < o.MinDensity:
			p.Sparse++
		case inspect.Overlap(noHuge, w.Range):
			p.OptedOut++
		default:
			p.Todo = append(p.Todo, w)
		}
	}
	slices.SortFunc(p.Todo, func(a, b page.Window) int {
		return cmp.Or(cmp.Compare(b.Density(), a.Density()), cmp.Compare(a.Range.Start, b.Range.Start))
	})
	for i, w := range p.Todo {
		size := uint64(w.Range.Len())
		if o.Budget > 0 && p.Bytes+size > o.Budget {
			p.OverBudget, p.Todo = len(p.Todo)-i, p.Todo[:i]
			break
		}
		p.Bytes += size
		p.Fill += size - w.Resident
	}
	return p
}
