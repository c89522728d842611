package gctune

import "time"

// rest watches what the process takes outside the Go runtime: C, mappings, caches
// outside the heap. It grows without asking, and the heap has to be out of its way
// before it comes: a heap gives back late what it has spread over, since survivors
// hold its pages whatever GOGC becomes.
type rest struct {
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
	// restHold is how long what the rest has taken is kept free for it, at least:
	// what came and went may come back.
	restHold = 30 * time.Second
	// restLead is how far its growth is looked ahead: a collection has to end
	// before memory can be given back.
	restLead = 500 * time.Millisecond
	// restWindow is what growth is measured over, at least.
	restWindow = 80 * time.Millisecond
	// returnEvery is how often the heap's memory is given back at most. Each time
	// costs a collection.
	returnEvery = time.Second
	// What is less than these parts of the budget is not much.
	growShare   = 256
	returnShare = 64
)

func (r *rest) add(s *Sample) {
	if s.Time-r.began >= restHold {
		r.most = [2]uint64{0, r.most[0]}
		r.began = s.Time
	}
	// Up to where it has been, there is room for it.
	beyond := s.Rest > max(r.most[0], r.most[1])
	r.most[0] = max(r.most[0], s.Rest)
	if elapsed := s.Time - r.at; elapsed >= restWindow {
		grown := sub(s.Rest, r.from)
		r.rate = 0
		if beyond && r.at > 0 && grown > s.Budget/growShare {
			r.rate = float64(grown) / elapsed.Seconds()
			r.grew, r.grown = s.Time, true
		}
		r.at, r.from = s.Time, s.Rest
	}
}

// expected is what the rest will take in a moment.
func (r *rest) expected(s *Sample) float64 {
	return float64(s.Rest) + r.rate*restLead.Seconds()
}

// claim is what is kept free for the rest: what it has taken of late, and what it
// will take in a moment.
func (r *rest) claim(s *Sample) float64 {
	return max(float64(r.most[0]), float64(r.most[1]), r.expected(s))
}

// displaces reports whether the rest grows into what the heap has and does not
// need. The runtime gives memory back by itself, but at its leisure: the process
// may be killed before.
func (r *rest) displaces(s *Sample) bool {
	switch {
	case s.Budget == 0 || !r.grown || s.Time-r.grew > returnEvery:
		return false
	case r.expected(s)+float64(s.Ready) <= float64(s.Budget) || s.Idle < s.Budget/returnShare:
		return false
	case r.given && s.Time-r.gave < returnEvery:
		return false
	}
	r.gave, r.given = s.Time, true
	return true
}
