package gccontrol

import "time"

// nonGo watches the process's memory outside the Go runtime: C, mappings, caches
// outside the heap. The heap has to make room before it grows: a heap releases late
// what it has spread over, since survivors hold its pages whatever GOGC becomes.
type nonGo struct {
	most  [2]uint64 // in this stretch of time, and in the one before
	began time.Duration

	at    time.Duration // of the reading that growth is measured from
	from  uint64
	rate  float64 // bytes per second, 0 when it does not grow by much, or has been there
	grew  time.Duration
	grown bool // grew is known
	gave  time.Duration
	given bool // gave is known
}

const (
	// nonGoHold is how long its peak is kept free, at least: what came and went may
	// come back.
	nonGoHold = 30 * time.Second
	// nonGoLead is how far its growth is extrapolated: a GC cycle has to end before
	// memory can be released.
	nonGoLead = 500 * time.Millisecond
	// nonGoWindow is the least time that growth is measured over.
	nonGoWindow = 80 * time.Millisecond
	// releaseEvery is the least time between two releases of heap memory: each costs
	// a GC cycle.
	releaseEvery = time.Second
	// Growth and free memory below these fractions of the budget are ignored.
	growShare    = 256
	releaseShare = 64
)

func (r *nonGo) add(s *Sample) {
	if s.Time-r.began >= nonGoHold {
		r.most = [2]uint64{0, r.most[0]}
		r.began = s.Time
	}
	// Up to where it has been, there is room for it.
	beyond := s.NonGo > max(r.most[0], r.most[1])
	r.most[0] = max(r.most[0], s.NonGo)
	if elapsed := s.Time - r.at; elapsed >= nonGoWindow {
		grown := sub(s.NonGo, r.from)
		r.rate = 0
		if beyond && r.at > 0 && grown > s.Budget/growShare {
			r.rate = float64(grown) / elapsed.Seconds()
			r.grew, r.grown = s.Time, true
		}
		r.at, r.from = s.Time, s.NonGo
	}
}

// expected extrapolates the memory outside the runtime.
func (r *nonGo) expected(s *Sample) float64 {
	return float64(s.NonGo) + r.rate*nonGoLead.Seconds()
}

// claim is what is kept free for it: its recent peak, or more if it grows.
func (r *nonGo) claim(s *Sample) float64 {
	return max(float64(r.most[0]), float64(r.most[1]), r.expected(s))
}

// displaces reports whether memory outside the runtime grows into what the runtime
// holds and does not need. The runtime releases memory on its own, but over minutes:
// the process may be killed before.
func (r *nonGo) displaces(s *Sample) bool {
	switch {
	case s.Budget == 0 || !r.grown || s.Time-r.grew > releaseEvery:
		return false
	case r.expected(s)+float64(s.Committed) <= float64(s.Budget) || s.Releasable < s.Budget/releaseShare:
		return false
	case r.given && s.Time-r.gave < releaseEvery:
		return false
	}
	r.gave, r.given = s.Time, true
	return true
}
