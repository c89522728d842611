package gccontrol

import "time"

const (
	// While memory is spent, what happens outside the heap is looked at as
	// often as this; less and less often while nothing happens.
	Tick    = time.Second
	maxTick = 30 * time.Second
	// closeTick is for when there is little room left.
	closeTick = 50 * time.Millisecond
	// What grows outside the heap is noticed before it has taken what is spare, if
	// it does not grow faster than this, in bytes per second: fast while something
	// happens in the program, slow while nothing does.
	fast = 512 << 20
	slow = 16 << 20
)

// NextLook is how long to wait for the next look if no GC cycle comes first; 0
// for as long as it takes. last is what it was before this look, before the
// sample of then, and found the GOGC of the program without us.
func NextLook(last time.Duration, before, s *Sample, d *Decision, found int) time.Duration {
	least, most := Tick, maxTick
	if spare, known := s.spare(d); known {
		least = min(max(fill(spare, fast), closeTick), Tick)
		most = min(max(fill(spare, slow), Tick), maxTick)
	}
	switch {
	case d.State == Emergency || d.State == Shrinking:
		least = closeTick
	case d.GOGC == found && least == Tick:
		return 0 // the program is as it would be without us
	}
	if s.Allocated-before.Allocated < 1<<20 && s.NonGo < before.NonGo+before.NonGo/20+1<<20 {
		return min(max(2*last, least), most)
	}
	return least
}

func fill(spare uint64, rate float64) time.Duration {
	return time.Duration(min(float64(spare)/rate, maxTick.Seconds()) * float64(time.Second))
}

// spare is what the process can take besides what it has, and what its heap will
// have by the next GC cycle.
func (s *Sample) spare(d *Decision) (n uint64, known bool) {
	limit := s.Hard
	if limit == 0 {
		limit = s.Budget + s.Reserve
	}
	return sub(limit, s.NonGo+max(s.Committed, d.Goal+s.Overhead)), limit > 0
}
