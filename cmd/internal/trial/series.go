package trial

import (
	"slices"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
)

// A Series is what a trial was doing over time: its memory, GC cycles, page faults. Times are seconds since the
// program was started, sizes bytes. Where more was seen than it holds, neighbors were put
// together: the largest of each stays.
type Series struct {
	RSS  Track `json:"rss"`  // of all processes together
	Huge Track `json:"huge"` // of it on huge pages; looked at less often
	// GC are the GC cycles of all Go processes.
	GC Cycles `json:"gc_cycles"`
	// Faults are the page faults, by samples of them; nil where they were not sampled.
	Faults *Rates `json:"page_faults,omitempty"`
	// Throttled are the seconds for which the CPU quota of a server under folio's load kept
	// it from running, all CPUs together, when the kernel told of them; nil where it did not.
	Throttled *Rates `json:"throttled,omitempty"`

	start  time.Time
	clock  uint64 // the start, on the clock of samples
	faults bins

	mu     sync.Mutex
	cycles []moment // by CLOCK_MONOTONIC
	cut    int      // how often neighbors were put together
}

// A Track is one figure over time.
type Track struct {
	Seconds []float64 `json:"seconds"`
	Bytes   []uint64  `json:"bytes"`
	// Stride is how many looks, or GC cycles, a value stands for at most.
	Stride int `json:"stride"`

	pending int // looks of the last value, when Stride is more than 1
}

// mostPoints bounds a track: a chart shows no more, and a result stays small.
const mostPoints = 500

func (t *Track) add(at time.Duration, bytes uint64) {
	if t.Stride == 0 {
		t.Stride = 1
	}
	if t.pending > 0 && t.pending < t.Stride {
		last := len(t.Bytes) - 1
		t.Bytes[last] = max(t.Bytes[last], bytes)
		t.pending++
		return
	}
	if len(t.Bytes) == mostPoints {
		t.halve()
	}
	t.Seconds, t.Bytes = append(t.Seconds, at.Seconds()), append(t.Bytes, bytes)
	t.pending = 1
}

// halve puts neighbors together.
func (t *Track) halve() {
	n := len(t.Bytes) / 2
	for i := range n {
		t.Seconds[i], t.Bytes[i] = t.Seconds[2*i], max(t.Bytes[2*i], t.Bytes[2*i+1])
	}
	t.Seconds, t.Bytes = t.Seconds[:n], t.Bytes[:n]
	t.Stride *= 2
}

// looked adds what a look at the processes saw.
func (s *Series) looked(track *Track, bytes uint64) {
	track.add(time.Since(s.start), bytes)
}

// collected adds the GC cycles of a step. A nil series keeps nothing.
func (s *Series) collected(step gccount.Step) {
	if s == nil || len(step.Cycles) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cycles = append(s.cycles, momentsOf(step)...)
	if n := len(s.cycles); n > mostCycles {
		slices.SortStableFunc(s.cycles, byTime)
		for i := range n / 2 {
			s.cycles[i] = s.cycles[2*i].with(s.cycles[2*i+1])
		}
		s.cycles, s.cut = s.cycles[:n/2], s.cut+1
	}
}

// mostCycles bounds the GC cycles that are kept until the end: some minutes of a program that
// does hardly anything else.
const mostCycles = 50_000

// finish makes the GC cycles.
func (s *Series) finish() {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	slices.SortStableFunc(s.cycles, byTime)
	var out moments
	for _, m := range s.cycles {
		m.at -= time.Duration(s.clock)
		out.add(m)
	}
	s.GC = out.columns()
	s.GC.Stride <<= s.cut
}
