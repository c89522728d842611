package collapser

import "time"

// A pace spreads work evenly: what was not done in time is not made up for, since the
// program would feel that as one long stall.
type pace struct {
	rate uint64 // bytes a second; 0 for no bound
	next time.Time
}

// wait returns how long to wait before the next piece.
func (p *pace) wait(now time.Time) time.Duration {
	if p.rate == 0 {
		return 0
	}
	return max(p.next.Sub(now), 0)
}

// begin says that a piece of so many bytes begins.
func (p *pace) begin(now time.Time, bytes uint64) {
	if p.rate > 0 {
		p.next = now.Add(time.Duration(float64(bytes) / float64(p.rate) * float64(time.Second)))
	}
}
