package shortage

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Stalls are said when some task waited for so long within a window. Without privileges
// the window must be a multiple of 2 s (Linux 6.4).
const (
	stall  = 200 * time.Millisecond
	window = 2 * time.Second
)

// again is for how long no other stall is said at first, seldom at last: each one doubles
// it, until memory is not short any more.
const (
	again  = time.Minute
	seldom = time.Hour
)

// stalls has the kernel say when tasks wait for memory.
func (w *Watch) stalls(g *group) {
	if g.unified {
		w.trigger(filepath.Join(g.dir, "memory.pressure"))
		return
	}
	if e := g.event("memory.pressure_level", "medium,hierarchy"); e != nil {
		w.wakes = append(w.wakes, &wake{f: e, events: unix.POLLIN, often: true, then: func() { w.stalled = drain(e) || w.stalled }})
	}
}

// trigger registers a trigger of PSI, where the kernel has it.
func (w *Watch) trigger(path string) {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	if _, err := fmt.Fprintf(f, "some %d %d\x00", stall.Microseconds(), window.Microseconds()); err != nil {
		f.Close()
		return
	}
	w.wakes = append(w.wakes, &wake{f: f, events: unix.POLLPRI, then: func() { w.stalled = true }})
}

// short says whether it is for want of memory that tasks wait: whether less than a tenth is
// left of a limit, of memory.high, or of the machine. The kernel counts as waiting for
// memory also what is not a shortage: reclaim of another cgroup that is at its own limit, of
// file cache that fills a limit, and compaction for huge pages.
func (w *Watch) short(now time.Time) (worst Event, err error) {
	sources := make([]source, 0, len(w.sources)+1)
	for _, s := range w.sources {
		sources = append(sources, s.source)
	}
	if w.machine != nil && !slices.Contains(sources, w.machine) {
		sources = append(sources, w.machine)
	}
	for _, s := range sources {
		e := Event{At: now, Group: s.name()}
		if e.Limit, err = s.limit(); err != nil {
			return Event{}, err
		}
		high, err := s.high()
		if err != nil {
			return Event{}, err
		}
		if high > 0 && (e.Limit == 0 || high < e.Limit) {
			e.Limit, e.High = high, true
		}
		if e.Use, e.Cache, err = s.use(); err != nil {
			return Event{}, err
		}
		e.Usage = e.Use + e.Cache
		if e.Limit > 0 && e.Use >= calm(e.Limit) && e.Share() > worst.Share() {
			worst = e
		}
	}
	switch since := now.Sub(w.saved); {
	case worst.Limit == 0:
		w.pause = again
		return Event{}, nil
	case since < w.pause:
		return Event{}, nil
	case since < 2*w.pause:
		w.pause = min(2*w.pause, seldom)
	default:
		w.pause = again
	}
	worst.Cause = Stall
	return worst, nil
}
