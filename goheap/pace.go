package goheap

import (
	"runtime"
	"time"

	"github.com/foliomem/folio/internal/system/cputime"
	"github.com/foliomem/folio/internal/system/page"
	"github.com/foliomem/folio/internal/system/procmem"
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

// On a single CPU that the program leaves idle at times, such as a server's, requests wait
// while windows are collapsed: that is done one window at a time, the least that the kernel
// can do, with long rests. Where the program keeps the CPU busy, as a batch job does, the
// work is the same in all, and the sooner it is done the better.
const (
	slowCatchUp    = 10 * time.Second
	slowLeastShare = 0.02
	slowMostShare  = 0.1
	// slowRests is by how much rarer the pages of the heap are looked at.
	slowRests = 4
	// busyShare is the share of the CPU that a busy program uses at least.
	busyShare = 0.95
)

// pace decides how much of one processor collapsing takes.
type pace struct {
	fixed  float64 // what the user has set, 0 for none
	most   float64
	cpus   float64       // that the program may use
	slow   bool          // collapse a window at a time: the program has one CPU, and leaves it idle at times
	todo   int           // windows that there were to collapse at the last look
	window time.Duration // the CPU time that one takes, of late
	until  time.Time     // of the rest
	use    cputime.Usage
}

// newPace returns the pace for a program that may use so many CPUs.
func newPace(budget, cpus float64) pace {
	p := pace{fixed: budget, most: 1, cpus: cpus, use: cputime.Usage{Least: 50 * time.Millisecond}}
	if p.single() {
		p.most = 0.5
	}
	p.window = time.Duration(float64(aGiB) * float64(page.WindowSize()) / (1 << 30))
	return p
}

// single says that what collapses takes the CPU from all else.
func (p *pace) single() bool { return p.cpus < 2 }

// begin notes how much there is to collapse, and decides how.
func (p *pace) begin(windows int) {
	p.todo, p.slow = windows, p.single() && (p.fixed > 0 || p.use.Share < busyShare*p.cpus)
}

// share is what may be taken now. It is decided by all that there was to do, so that it
// does not become less and less as that is being done.
func (p *pace) share() float64 {
	need := float64(p.todo) * float64(p.window)
	switch {
	case p.fixed > 0:
		return p.fixed
	case p.slow:
		return min(max(need/float64(slowCatchUp), slowLeastShare), slowMostShare)
	}
	return min(max(need/float64(catchUp), leastShare), p.most)
}

// piece is the CPU time to collapse for without a rest; 0 for a single window.
func (p *pace) piece() time.Duration {
	if p.slow {
		return 0
	}
	return time.Duration(float64(slice) * p.share())
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

// cpus returns how many CPUs the program may use: by GOMAXPROCS, and by the quota of its
// cgroups.
func cpus(fs procmem.FS) float64 {
	n := float64(runtime.GOMAXPROCS(0))
	if quota, ok, err := fs.CPUQuota(0); ok && err == nil {
		n = min(n, quota)
	}
	return n
}
