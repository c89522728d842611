package goheap

import (
	"time"

	"github.com/foliomem/folio/internal/system/procmem"
)

// backoff keeps from trying in vain, each time for longer.
type backoff struct {
	least, most time.Duration
	wait        time.Duration
	until       time.Time
}

// left returns how long to wait still.
func (b *backoff) left(now time.Time) time.Duration { return max(b.until.Sub(now), 0) }

// again begins a wait that is twice as long as the last one.
func (b *backoff) again(now time.Time) {
	b.wait = min(max(2*b.wait, b.least), b.most)
	b.until = now.Add(b.wait)
}

func (b *backoff) reset() { b.wait, b.until = 0, time.Time{} }

// pressureGate compares readings of how long threads have waited for memory.
type pressureGate struct {
	waits procmem.PressureSource
	known bool // what waits is
	last  procmem.Pressure
	at    time.Time
	high  bool
}

// pressureEvery is how long a reading is good for.
const pressureEvery = 500 * time.Millisecond

// above reports whether threads have waited for more than a share of the time since
// the last reading. It is unknown, and false, at first.
func (g *pressureGate) above(fs procmem.FS, now time.Time, share float64) (bool, error) {
	since := now.Sub(g.at)
	if !g.at.IsZero() && since < pressureEvery {
		return g.high, nil
	}
	if !g.known {
		g.waits, g.known = fs.PressureSource(0), true
	}
	p, ok, err := g.waits.Read()
	if err != nil || !ok {
		g.high = false
		return false, err
	}
	// A reading that is long ago says nothing about now.
	g.high = !g.at.IsZero() && since < 10*pressureEvery && float64(p.Some-g.last.Some) > share*float64(since)
	g.last, g.at = p, now
	return g.high, nil
}
