package arena

import (
	"fmt"
	"os"
	"runtime"
	"runtime/metrics"
	"sync"
	"weak"
)

// quarantineAll drops all slabs of the stock in debug mode.
func (s *stock[T]) quarantineAll(c *core, r *record) {
	s.drain(c, func(l *slab[T]) { s.quarantine(r, l) })
}

// quarantine drops a slab in debug mode: it is cleared, never reused, and held
// weakly until the GC has taken it.
func (s *stock[T]) quarantine(r *record, l *slab[T]) {
	objects := l.used
	l.clear()
	if objects == 0 || s.depot.size == 0 {
		return
	}
	w := weak.Make(&l.buf[0])
	quarantined.add(&suspect{
		record:  *r,
		typ:     s.typ().String(),
		objects: objects,
		alive:   func() bool { return w.Value() != nil },
	})
}

// suspect is a slab in quarantine.
type suspect struct {
	record  record
	typ     string
	objects int
	alive   func() bool
	born    uint64 // GC cycles until then, or until what freed it returned
}

// patience is how many GC cycles a slab may survive. The first may have begun
// before Free, so that this is two whole ones: a stale register of a
// goroutine that was interrupted is not a reason for a report.
const patience = 3

// quarantined has all slabs in quarantine.
var quarantined quarantine

type quarantine struct {
	inspection sync.Mutex // held while reports are made, before mu
	reports    int        // since the last CheckDangling

	mu       sync.Mutex
	suspects []*suspect
	awake    bool
	report   func(Dangling)
}

func (q *quarantine) add(s *suspect) {
	s.born = gcCycles()
	q.mu.Lock()
	defer q.mu.Unlock()
	q.suspects = append(q.suspects, s)
	q.wake()
}

// wake arms a bell for the next GC cycle. The quarantine is locked.
func (q *quarantine) wake() {
	if !q.awake {
		q.awake = true
		runtime.AddCleanup(new(bell), func(q *quarantine) {
			q.mu.Lock()
			q.awake = false
			q.mu.Unlock()
			q.inspect()
		}, q)
	}
}

// inspect forgets the slabs that are gone, and reports those that are too old.
func (q *quarantine) inspect() {
	q.inspection.Lock()
	defer q.inspection.Unlock()

	q.mu.Lock()
	now := gcCycles()
	var found []*suspect
	left := q.suspects[:0]
	for _, s := range q.suspects {
		switch {
		case !s.alive():
		case s.record.over != nil && !s.record.over.Load():
			s.born = now
			left = append(left, s)
		case now-s.born >= patience:
			found = append(found, s)
		default:
			left = append(left, s)
		}
	}
	clear(q.suspects[len(left):])
	q.suspects = left
	if len(left) > 0 {
		q.wake()
	}
	report := q.report
	q.mu.Unlock()

	if report == nil {
		report = func(d Dangling) { fmt.Fprintln(os.Stderr, d) }
	}
	for _, d := range group(found) {
		q.reports++
		report(d)
	}
}

// gcCycles returns how many GC cycles there have been.
func gcCycles() uint64 {
	s := [1]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(s[:])
	return s[0].Value.Uint64()
}
