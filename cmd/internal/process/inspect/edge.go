package inspect

import (
	"errors"
	"slices"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// ErrCut says that what was written is not whole, since the process ended; its first line
// says so, too.
var ErrCut = errors.New("cut off")

// Beside returns a Watcher of the same process that can write its heap profile and its
// goroutines while w reads the rest. It ends with w.
func (w *Watcher) Beside() *Watcher {
	other := &Watcher{s: w.s, pid: w.pid, o: w.o}
	if w.runtimes != nil {
		other.runtimes = w.runtimes.Beside()
	}
	return other
}

// PID returns the process.
func (w *Watcher) PID() int { return w.pid }

// Current reports whether the process is the one that was looked at first, with the same
// program.
func (w *Watcher) Current() bool {
	st, err := w.s.FS.Stat(w.pid)
	return err == nil && !st.Zombie() && w.last != nil && st.StartTime == w.begin.StartTime &&
		!slices.ContainsFunc(w.readable(), func(g *goruntime.Runtime) bool { return !g.Target.Alive() })
}

// Quick reads what takes microseconds: RSS, and the statistics of its Go runtime, nil
// where there is none, or several.
func (w *Watcher) Quick() (rss uint64, stats *goruntime.Stats, err error) {
	m, err := w.s.FS.Statm(w.pid)
	if err != nil {
		return 0, nil, w.s.FS.Unseen(w.pid, err)
	}
	if all := w.readable(); len(all) == 1 {
		if s, err := all[0].Target.Stats(); err == nil {
			stats = &s
		}
	}
	return m.RSS, stats, nil
}
