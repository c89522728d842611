package goheap

import (
	"time"

	"github.com/foliomem/folio/page"
)

const (
	// catchUp is how long collapsing what there is may take: with growing, looking
	// and waiting for the GC, a heap is on huge pages within five seconds.
	catchUp = 2 * time.Second
	// leastShare is what is taken of one processor if that is soon enough.
	leastShare = 0.25
	// aGiB is what collapsing one takes where nothing is known yet. Virtual machines
	// whose host gives them memory only when they touch it take ten times as long.
	aGiB = 400 * time.Millisecond
)

// pace decides how much of one processor collapsing takes.
type pace struct {
	fixed  float64 // what the user has set, 0 for none
	most   float64
	todo   int           // windows that there were to collapse at the last look
	window time.Duration // the CPU time that one takes, of late
}

func newPace(budget float64, processors int) pace {
	p := pace{fixed: budget, most: 1}
	if processors < 2 {
		p.most = 0.5
	}
	p.window = time.Duration(float64(aGiB) * float64(page.WindowSize()) / (1 << 30))
	return p
}

// share is what may be taken now. It is decided by all that there was to do, so that it
// does not become less and less as that is being done.
func (p *pace) share() float64 {
	if p.fixed > 0 {
		return p.fixed
	}
	return min(max(float64(p.todo)*float64(p.window)/float64(catchUp), leastShare), p.most)
}

// took notes what some windows took.
func (p *pace) took(windows int, d time.Duration) {
	if windows == 0 {
		return
	}
	const weight = 0.3 // of the new
	p.window += time.Duration(weight * float64(d/time.Duration(windows)-p.window))
}

// rest is how long to do nothing after so much CPU time.
func (p *pace) rest(spent time.Duration) time.Duration {
	return time.Duration(float64(spent) * (1/p.share() - 1))
}
