package leak

import (
	"time"

	"github.com/foliomem/folio/cmd/internal/program/callsite"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/symbol"
)

// A Blocked is a goroutine in which the runtime calls finalizers or cleanups, and which waits
// in one: what the others would free stays.
type Blocked struct {
	What  string // finalizer or cleanup
	State string
	For   time.Duration // at least; as long as [callsite.GoroutineGroup.Longest]
	Stack []symbol.Frame
}

// A caller is a goroutine of a runtime, by its id.
type caller struct {
	in string // the file of the runtime; "" where there is one
	id uint64
}

// A callback is a goroutine that calls finalizers or cleanups, and waits.
type callback struct {
	what  string
	since uint64
	seen  int // readings in a row in which it waits since then
}

// readCallback notes that such a goroutine waits. That it has run meanwhile clears since.
func (w *watcher) readCallback(waiting map[caller]callback, in, what string, g *goruntime.Goroutine) {
	if g.Since == 0 || g.Status != goruntime.Waiting && g.Status != goruntime.Leaked || g.Reason == "finalizer wait" || g.Reason == "cleanup wait" {
		return
	}
	c := callback{what, g.Since, 1}
	if before, ok := w.callbacks[caller{in, g.ID}]; ok && before.since == g.Since {
		c.seen += before.seen
	}
	waiting[caller{in, g.ID}] = c
}

// stuck reports whether one of them was seen to wait in so many readings that it is blocked.
func (w *watcher) stuck() bool {
	for _, c := range w.callbacks {
		if Enough(c.seen) {
			return true
		}
	}
	return false
}

// judgeCallbacks finds those that are blocked in code of the program.
func (w *watcher) judgeCallbacks(all *callsite.Goroutines) {
	for _, g := range all.Groups {
		if c, ok := w.callbacks[caller{g.In, g.Example}]; ok && Enough(c.seen) && g.Longest > 0 {
			w.Blocked = append(w.Blocked, Blocked{c.what, g.State, g.Longest, g.Waits()})
		}
	}
}
