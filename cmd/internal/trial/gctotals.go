package trial

import (
	"errors"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
)

// gcTotals are the figures of several processes.
type gcTotals struct {
	gccount.Figures
	stops     stops
	processes int   // Go programs that were read, or should have been
	known     bool  // something was read
	err       error // why some are not known
}

// stops finds the longest single stop-the-world. A cycle stops the world twice: for how long
// each time is known of cycles that were seen in detail, and of the others the sum of both.
type stops struct {
	longest time.Duration // that is known
	bound   time.Duration // what no other can be longer than
	lost    bool          // nothing is known of some
}

func (t *stops) add(s gccount.Step) {
	t.missed(0, s.Lost)
	for _, c := range s.Cycles {
		first, second, ok := stopsOf(c)
		if !ok {
			t.missed(c.Length, 0)
			continue
		}
		// The moments are a little apart from what the runtime measures as the pause.
		t.longest = max(t.longest, min(c.Length, max(first, second)))
	}
}

// stopsOf returns for how long a cycle stopped the world each time, where that is known.
func stopsOf(c gccount.Cycle) (first, second time.Duration, ok bool) {
	d := c.Detail
	if d == nil || d.Start == 0 || d.Mark < d.Start {
		return 0, 0, false
	}
	first = d.Mark - d.Start
	if d.MarkEnd >= d.Mark && d.End >= d.MarkEnd {
		return first, d.End - d.MarkEnd, true
	}
	return first, max(c.Length-first, 0), true // it was seen as it marked
}

// missed notes cycles that were not seen in detail: the longest pause of those, and how many
// more there were.
func (t *stops) missed(longest time.Duration, lost uint64) {
	t.bound, t.lost = max(t.bound, longest), t.lost || lost > 0
}

func (t *stops) with(o stops) stops {
	return stops{max(t.longest, o.longest), max(t.bound, o.bound), t.lost || o.lost}
}

// known reports whether the longest is that of all.
func (t *stops) known() bool { return !t.lost && t.bound <= t.longest }

// errUntold is why there may have been more GC cycles where no exit is told.
var errUntold = errors.New("where no process may be listened to (seccomp), what the GC did right before an exit is not seen, nor processes that were short-lived")
