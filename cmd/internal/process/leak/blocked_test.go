package leak

import (
	"testing"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// TestCallback: blocked is what waits in a finalizer from one reading to the next, and not
// what waits again and again, or for work.
func TestCallback(t *testing.T) {
	for name, c := range map[string]struct {
		status goruntime.Status
		reason string
		since  func(i int) uint64
		want   bool
	}{
		"blocked":            {goruntime.Waiting, "select (no cases)", func(int) uint64 { return 5 }, true},
		"leaked":             {goruntime.Leaked, "chan receive", func(int) uint64 { return 5 }, true},
		"idle finalizers":    {goruntime.Waiting, "finalizer wait", func(int) uint64 { return 5 }, false},
		"idle cleanups":      {goruntime.Waiting, "cleanup wait", func(int) uint64 { return 5 }, false},
		"waits now and then": {goruntime.Waiting, "sleep", func(i int) uint64 { return uint64(5 + i/6) }, false},
		"before a GC cycle":  {goruntime.Waiting, "sleep", func(int) uint64 { return 0 }, false},
		"runs":               {goruntime.Running, "", func(int) uint64 { return 5 }, false},
		"has run lately":     {goruntime.Waiting, "sleep", func(i int) uint64 { return uint64(5 + i/50) }, false},
	} {
		w := &watcher{}
		for i := range 60 {
			waiting := map[caller]callback{}
			w.readCallback(waiting, "", "finalizer", &goruntime.Goroutine{ID: 3, Status: c.status, Reason: c.reason, Since: c.since(i)})
			w.callbacks = waiting
		}
		if got := w.stuck(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
