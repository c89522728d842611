package delay

import (
	"math"
	"math/rand/v2"
)

// A Run is what is known of a server under load. Times are seconds on one clock.
type Run struct {
	// Span is the time in which requests were to start.
	Span
	// Slow are the slow requests, Some are chosen at random of all: from the intended start
	// to the answer.
	Slow, Some []Span
	// Causes are when each was. One that is missing is not known; one that did not occur
	// has no spans.
	Causes map[Cause][]Span
}

// Counts are how many requests of a run overlap each cause that is known.
type Counts struct {
	Slow int `json:"slow_requests"`
	// Some is how many requests were chosen at random of all.
	Some int `json:"requests_sampled"`
	// Episodes is how often requests were slow: those that overlap, or nearly, are one.
	Episodes int       `json:"slow_episodes"`
	Causes   []Overlap `json:"causes"`

	sets map[set]int // of slow requests, by the causes that they overlap
}

// An Overlap is how many requests overlap a cause: share a tenth of their time with it, or
// more.
type Overlap struct {
	Cause Cause `json:"cause" redact:"keep"`
	// Seconds is how long the cause lasted, while requests were to start.
	Seconds float64 `json:"seconds"`
	Slow    int     `json:"slow_requests"`
	Some    int     `json:"requests_sampled"`
	// Chance is how many slow requests would at other times, on the mean.
	Chance float64 `json:"slow_requests_by_chance"`

	draws []int // how many did, by draw
}

// A set has a bit for each of [Causes].
type set uint8

const (
	draws = 299
	// Slow requests are drawn within blocks of the run: of this many seconds, or of as many
	// times the length of what they are compared with.
	block      = 2.0
	blockTimes = 20
)

// Of counts the requests of a run. It returns nil where there were no slow ones, or no cause
// is known.
func Of(r Run) *Counts {
	if len(r.Slow) == 0 || len(r.Causes) == 0 || !(r.To > r.From) {
		return nil
	}
	events := episodes(r.Slow)
	out := &Counts{Slow: len(r.Slow), Some: len(r.Some), Episodes: len(events), Causes: []Overlap{}, sets: make(map[set]int)}
	sets := make([]set, len(r.Slow))
	for bit, c := range Causes {
		spans, ok := r.Causes[c]
		if !ok {
			continue
		}
		t := newTimes(spans)
		o := Overlap{Cause: c, Seconds: t.until(r.To) - t.until(r.From), Some: t.count(r.Some)}
		for i, s := range r.Slow {
			if t.overlaps(s) {
				o.Slow++
				sets[i] |= 1 << bit
			}
		}
		o.draw(r.Span, events, t, uint64(bit))
		out.Causes = append(out.Causes, o)
	}
	for _, s := range sets {
		out.sets[s]++
	}
	return out
}

// draw counts the overlaps of the slow requests at other times.
func (o *Overlap) draw(all Span, events []episode, t *times, seed uint64) {
	o.draws = make([]int, draws)
	if t.total == 0 {
		return
	}
	length := 0.0
	for _, e := range events {
		length += e.to - e.from
	}
	length = t.total/float64(len(t.spans)) + length/float64(len(events))
	blocks := max(1, int((all.To-all.From)/max(block, blockTimes*length)))
	width := (all.To - all.From) / float64(blocks)
	// Runs that are judged together must not share their draws.
	rng := rand.New(rand.NewPCG(seed, math.Float64bits(events[0].from)))
	sum := 0
	for d := range o.draws {
		for _, e := range events {
			b := min(max(int((e.from-all.From)/width), 0), blocks-1)
			move := all.From + (float64(b)+rng.Float64())*width - e.from
			for _, r := range e.requests {
				if t.overlaps(Span{r.From + move, r.To + move}) {
					o.draws[d]++
				}
			}
		}
		sum += o.draws[d]
	}
	o.Chance = float64(sum) / draws
}
