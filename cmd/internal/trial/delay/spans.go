package delay

import (
	"cmp"
	"slices"
	"sort"
)

// A Span is a time from start to end, in seconds.
type Span struct{ From, To float64 }

// least is the part of its time that a request has to share with a cause to overlap it: a
// pause of 50 µs does not delay a request by 40 ms.
const least = 0.1

// times are spans in order without overlaps, and how long all before each last.
type times struct {
	spans  []Span
	before []float64
	total  float64
}

func newTimes(spans []Span) *times {
	sorted := slices.Clone(spans)
	slices.SortFunc(sorted, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	t := &times{}
	for _, s := range sorted {
		if last := len(t.spans) - 1; last >= 0 && s.From <= t.spans[last].To {
			t.spans[last].To = max(t.spans[last].To, s.To)
		} else if s.To > s.From {
			t.spans = append(t.spans, s)
		}
	}
	for _, s := range t.spans {
		t.before = append(t.before, t.total)
		t.total += s.To - s.From
	}
	return t
}

// until returns how much of the spans is before a time.
func (t *times) until(at float64) float64 {
	i := sort.Search(len(t.spans), func(i int) bool { return t.spans[i].From >= at }) - 1
	if i < 0 {
		return 0
	}
	return t.before[i] + min(at, t.spans[i].To) - t.spans[i].From
}

// overlaps says that a request overlaps the spans.
func (t *times) overlaps(r Span) bool {
	shared := t.until(r.To) - t.until(r.From)
	return shared > 0 && shared >= least*(r.To-r.From)
}

func (t *times) count(requests []Span) (n int) {
	for _, r := range requests {
		if t.overlaps(r) {
			n++
		}
	}
	return n
}

// together is the gap within which slow requests belong to one event, in seconds.
const together = 0.01

// An episode is requests that were slow together.
type episode struct {
	requests []Span
	from, to float64
}

func episodes(slow []Span) (out []episode) {
	sorted := slices.Clone(slow)
	slices.SortFunc(sorted, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	begin, to := 0, 0.0
	for i, r := range sorted {
		if i > 0 && r.From > to+together {
			out = append(out, episode{sorted[begin:i], sorted[begin].From, to})
			begin = i
		}
		to = max(to, r.To)
		if i == begin {
			to = r.To
		}
	}
	if len(sorted) > 0 {
		out = append(out, episode{sorted[begin:], sorted[begin].From, to})
	}
	return out
}
