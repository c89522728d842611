package trial

import (
	"cmp"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
)

// Cycles are GC cycles over time, in columns with an entry each; where there are too many,
// neighbors share one. When a cycle ended and its pause are known of all. What else there is
// is known of those that were seen as they ran, or as the last one; of others it is 0.
type Cycles struct {
	Seconds []float64 `json:"seconds"`          // when the cycle ended
	Clock   []float64 `json:"duration_seconds"` // for how long it ran: the longest
	Start   []uint64  `json:"start_bytes"`      // the heap when it started, the largest
	End     []uint64  `json:"end_bytes"`        // the heap when it ended, the largest
	Live    []uint64  `json:"live_bytes"`       // of that what was live, the largest
	Goal    []uint64  `json:"goal_bytes"`       // the largest
	Pause   []float64 `json:"pause_seconds"`    // stop-the-world, the longest
	// Assist and Background are CPU time; nil where several cycles ended between two readings:
	// the runtime tells their sum.
	Assist []*float64 `json:"assist_cpu_seconds"`
	// Background is that of GC workers, without those on idle CPUs.
	Background []*float64 `json:"background_cpu_seconds"`
	// Stride is how many cycles an entry stands for at most; 0 without any.
	Stride int `json:"stride"`
}

// moments gathers GC cycles. Its zero value has none.
type moments struct {
	all     []moment
	stride  int
	pending int // cycles of the last one, where stride is more than 1
}

// A moment is a GC cycle, or several.
type moment struct {
	at                     time.Duration // its end
	clock, pause           time.Duration // clock is 0 where it is not known
	start, end, live, goal uint64
	// CPU time, of cycles that were not read alone the mean of those that ended with them.
	assist, background time.Duration
	alone              bool

	first, second time.Duration // both stops; 0 where they are not known
}

func byTime(a, b moment) int { return cmp.Compare(a.at, b.at) }

// momentsOf returns the cycles that a reading found.
func momentsOf(s gccount.Step) (out []moment) {
	n := time.Duration(len(s.Cycles))
	for _, c := range s.Cycles {
		m := moment{at: c.At, pause: c.Length, assist: s.Ended.Assist / n, background: (s.Ended.Dedicated + s.Ended.Pause) / n,
			alone: n == 1 && s.Lost == 0}
		if first, second, ok := stopsOf(c); ok {
			d := c.Detail
			m.clock, m.first, m.second = d.End-d.Start, first, second
			m.start, m.end, m.live, m.goal = d.HeapStart, d.HeapEnd, d.Live, d.Goal
		}
		out = append(out, m)
	}
	return out
}

// with puts two neighbors together, at the time of the first.
func (m moment) with(o moment) moment {
	return moment{at: m.at, clock: max(m.clock, o.clock), pause: max(m.pause, o.pause), start: max(m.start, o.start), end: max(m.end, o.end),
		live: max(m.live, o.live), goal: max(m.goal, o.goal), assist: m.assist + o.assist, background: m.background + o.background,
		alone: m.alone && o.alone}
}

func (t *moments) add(m moment) {
	if t.stride == 0 {
		t.stride = 1
	}
	if t.pending > 0 && t.pending < t.stride {
		last := &t.all[len(t.all)-1]
		*last = last.with(m)
		t.pending++
		return
	}
	if len(t.all) == mostPoints {
		for i := range mostPoints / 2 {
			t.all[i] = t.all[2*i].with(t.all[2*i+1])
		}
		t.all, t.stride = t.all[:mostPoints/2], 2*t.stride
	}
	t.all, t.pending = append(t.all, m), 1
}

// columns returns the cycles as results have them.
func (t *moments) columns() (out Cycles) {
	for _, m := range t.all {
		out.Seconds, out.Clock = append(out.Seconds, m.at.Seconds()), append(out.Clock, m.clock.Seconds())
		out.Start, out.End = append(out.Start, m.start), append(out.End, m.end)
		out.Live, out.Goal = append(out.Live, m.live), append(out.Goal, m.goal)
		out.Pause = append(out.Pause, m.pause.Seconds())
		var assist, background *float64
		if m.alone {
			assist, background = new(m.assist.Seconds()), new(m.background.Seconds())
		}
		out.Assist, out.Background = append(out.Assist, assist), append(out.Background, background)
	}
	out.Stride = t.stride
	return out
}

// Len is how many entries there are that have all figures: files may have been made by
// anybody.
func (c *Cycles) Len() int {
	return min(len(c.Seconds), len(c.Clock), len(c.Start), len(c.End), len(c.Live), len(c.Goal), len(c.Pause), len(c.Assist), len(c.Background))
}

// Rates are events over time, in bins of one width from the start of the program on.
type Rates struct {
	BinSeconds float64   `json:"bin_seconds"`
	Counts     []float64 `json:"counts"`
}

const (
	mostBins = 400
	firstBin = 2 * time.Millisecond
)

// bins counts events over time, in wider bins the longer it takes.
type bins struct {
	width time.Duration // of the first; 0 for firstBin
	most  int           // 0 for mostBins
	n     []float64
}

func (b *bins) add(at time.Duration, n float64) {
	if b.width == 0 {
		b.width = firstBin
	}
	if b.most == 0 {
		b.most = mostBins
	}
	for int(max(at, 0)/b.width) >= b.most {
		for i := range b.n {
			if v := b.n[i]; i > 0 {
				b.n[i] = 0
				b.n[i/2] += v
			}
		}
		b.n = b.n[:(len(b.n)+1)/2]
		b.width *= 2
	}
	i := int(max(at, 0) / b.width)
	for len(b.n) <= i {
		b.n = append(b.n, 0)
	}
	b.n[i] += n
}

// rates returns the counts, scaled so that they add up to total where that is known.
func (b *bins) rates(total float64) *Rates {
	sum := 0.0
	for _, v := range b.n {
		sum += v
	}
	if sum <= 0 {
		return nil
	}
	if total <= 0 {
		total = sum
	}
	out := &Rates{BinSeconds: b.width.Seconds()}
	for _, v := range b.n {
		out.Counts = append(out.Counts, v*total/sum)
	}
	return out
}

// stopsOf returns for how long a cycle stopped the world each time, where that is known.
func stopsOf(c gccount.Cycle) (first, second time.Duration, ok bool) {
	d := c.Detail
	if d == nil || d.Start == 0 || d.Mark < d.Start {
		return 0, 0, false
	}
	first = d.Mark - d.Start
	if d.MarkEnd >= d.Mark && d.End >= d.MarkEnd {
		return first, d.End - d.MarkEnd, true
	}
	return first, max(c.Length-first, 0), true // it was seen as it marked
}
