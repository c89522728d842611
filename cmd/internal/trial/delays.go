package trial

import (
	"slices"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// Delays are how many requests of a load overlap what may have delayed them. A cause that is
// not known is not among them: GC cycles that were not all seen, the quota and memory stalls
// without limits.
type Delays struct {
	delay.Counts
	// Looks is how often the kernel was asked during the load, and Cost how long that took.
	Looks int     `json:"looks"`
	Cost  float64 `json:"looks_seconds"`
}

// DelaysOf judges the runs that count together; nil where there is nothing to judge.
func DelaysOf(samples []*Sample) *delay.Answer {
	var counts []*delay.Counts
	for _, s := range samples {
		if s.OK() && s.Load != nil && s.Delays != nil {
			counts = append(counts, &s.Delays.Counts)
		}
	}
	return delay.Merge(counts)
}

// requestSpans places requests of a load that started at a time.
func requestSpans(requests []load.Request, start time.Duration) (out []delay.Span) {
	for _, r := range requests {
		out = append(out, spanOf(start+r.At, start+r.At+r.Took))
	}
	return out
}

func spanOf(from, to time.Duration) delay.Span {
	return delay.Span{From: from.Seconds(), To: to.Seconds()}
}

// gcSpans returns when the GC cycles of all processes were that ended after a time, on the clock
// of the program; false if not all of those were kept. Of a cycle that was not seen in detail,
// since several ended between two looks, the end and the length of the stops are known: it is taken
// to have run for as long as those that were seen did on average, and to have stopped the world at
// its end. Where next to none was seen it is not known for how long they ran.
func (s *Series) gcSpans(since time.Duration) (out map[delay.Cause][]delay.Span, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cut > 0 {
		return nil, false
	}
	out = map[delay.Cause][]delay.Span{delay.Pause: {}, delay.Cycle: {}, delay.Assists: {}}
	add := func(c delay.Cause, from, to time.Duration) { out[c] = append(out[c], spanOf(from, to)) }
	n, seen, ran := 0, 0, time.Duration(0)
	for _, m := range s.cycles {
		if m.at-time.Duration(s.clock) > since {
			if n++; m.clock > 0 {
				seen, ran = seen+1, ran+m.clock
			}
		}
	}
	mean := ran / time.Duration(max(seen, 1))
	for _, m := range s.cycles {
		end := m.at - time.Duration(s.clock)
		if end <= since {
			continue
		}
		if m.clock == 0 {
			m.clock, m.second = max(mean, m.pause), m.pause
		}
		begun := end - m.clock
		if m.first > 0 {
			add(delay.Pause, begun, begun+m.first)
		}
		add(delay.Pause, end-m.second, end)
		add(delay.Cycle, begun, end)
		if m.assist > 0 && float64(m.assist) >= assistShare*float64(m.clock) {
			add(delay.Assists, begun, end)
		}
	}
	if 2*seen < min(n, 2*leastSeen) {
		delete(out, delay.Cycle)
		delete(out, delay.Assists)
	}
	return out, true
}

// assistShare is the part of the time of a cycle that assists take of one CPU, at least,
// in what is called a cycle with assists: nearly all have some.
const assistShare = 0.1

// leastSeen is how many cycles must have been seen in detail, if there were as many.
const leastSeen = 10

// many returns the bins that have more than twice the mean, those next to each other as one,
// on a clock on which the first begins at a time.
func (b *bins) many(start, until time.Duration) []delay.Span {
	out := []delay.Span{}
	if b.width == 0 {
		return out
	}
	sum := 0.0
	for _, n := range b.n {
		sum += n
	}
	mean := sum / max(1, float64(until-start)/float64(b.width))
	for i, n := range b.n {
		s := spanOf(start+time.Duration(i)*b.width, start+time.Duration(i+1)*b.width)
		if n <= 2*mean {
			continue
		}
		if last := len(out) - 1; last >= 0 && i > 0 && b.n[i-1] > 2*mean {
			out[last].To = s.To
			continue
		}
		out = append(out, s)
	}
	return out
}

// inTime returns spans that end after a time and begin before another.
func inTime(spans []delay.Span, from, to float64) []delay.Span {
	return slices.DeleteFunc(slices.Clone(spans), func(s delay.Span) bool { return s.To <= from || s.From >= to })
}
