package gccount

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

// A runtime counts cycles as one of Go does.
type runtime struct{ goruntime.GC }

const ms = time.Millisecond

// begin begins a cycle at a time, and cycle is a whole one, whose pause and end are by its
// number.
func (r *runtime) begin(at time.Duration) {
	r.Running, r.Unfinished = true, goruntime.GCCPU{Assist: ms}
	r.Cycle = goruntime.GCCycle{Number: r.Cycles + 1, Start: at, Mark: at + 1, HeapStart: 10}
}

func (r *runtime) cycle() {
	if !r.Running {
		r.begin(time.Duration(r.Cycles+1) * ms)
	}
	i := r.Cycles % goruntime.PauseRing
	r.Cycles++
	r.PauseNs[i], r.PauseEnd[i] = uint64(r.Cycles), 1e18+uint64(r.Cycles)*uint64(ms)
	r.PauseTotal += time.Duration(r.Cycles)
	r.Running, r.Unfinished = false, goruntime.GCCPU{}
	r.CPU = plus(r.CPU, goruntime.GCCPU{Assist: 2 * ms, Dedicated: 3 * ms, Pause: 1})
	r.Ended = time.Duration(r.Cycles)*ms + 500
	r.Live, r.HeapEnd = 100+uint64(r.Cycles%7), 300+uint64(r.Cycles%5)
	r.Cycle.End, r.Cycle.HeapEnd, r.Cycle.Live = r.Ended, r.HeapEnd, r.Live
}

// numbers of the cycles of a step, those with details negative.
func numbers(s Step) (out []int) {
	for _, c := range s.Cycles {
		n := int(c.Cycle)
		if c.Detail != nil {
			n = -n
		}
		out = append(out, n)
	}
	return out
}

func TestCount(t *testing.T) {
	var r runtime
	r.Goal, r.Percent, r.MemoryLimit = 8e18, -1, math.MaxInt64 // off
	c := Count{FromStart: true}
	for range 3 {
		r.cycle()
	}
	r.Forced = 2
	s := c.Add(&r.GC)
	if got := numbers(s); !slices.Equal(got, []int{1, 2, -3}) || s.Lost != 0 || s.Forced != 2 || s.CPU.Assist != 6*ms {
		t.Errorf("%v, %+v", got, s)
	}
	if y := s.Cycles[2]; y.At != r.Ended || y.Length != 3 || *y.Detail != r.Cycle || s.Cycles[0].At != r.Ended-2*ms {
		t.Errorf("%+v", s.Cycles)
	}
	if s := c.Add(&r.GC); len(s.Cycles) != 0 || s.CPU != (goruntime.GCCPU{}) {
		t.Errorf("nothing new: %+v", s)
	}
	// One is seen as it runs; when it is read again, three more have ended, and one runs.
	r.begin(4 * ms)
	if s := c.Add(&r.GC); len(s.Cycles) != 0 || s.CPU.Assist != ms || s.Ended.Assist != 0 || c.Figures().Goal != 0 {
		t.Errorf("it runs: %+v", s)
	}
	r.Goal, r.Percent = 500, 100
	for range 4 {
		r.cycle()
	}
	r.begin(8 * ms)
	s = c.Add(&r.GC)
	if got := numbers(s); !slices.Equal(got, []int{-4, 5, 6, 7}) || s.CPU.Assist != 8*ms || s.Ended.Assist != 8*ms {
		t.Errorf("%v, %+v", got, s)
	}
	if d := s.Cycles[0].Detail; d.Start != 4*ms || d.End != 4*ms+500 || d.HeapStart != 10 {
		t.Errorf("%+v", d)
	}
	for range goruntime.PauseRing + 5 {
		r.cycle()
	}
	s = c.Add(&r.GC)
	if got := numbers(s); len(got) != goruntime.PauseRing || got[0] != 13 || s.Lost != 5 {
		t.Errorf("%d cycles, first %d, %d lost", len(got), got[0], s.Lost)
	}
	f := c.Figures()
	n := uint64(r.Cycles)
	want := Figures{Cycles: n, Forced: 2, PauseTotal: time.Duration(n * (n + 1) / 2), PauseMax: time.Duration(n), LostPauses: 5, CPU: r.CPU,
		Live: r.Live, Goal: 500, HeapPeak: 303, LivePeak: f.LivePeak, GoalPeak: 500,
		Seen: 3, HeapSum: f.HeapSum, LiveSum: f.LiveSum, Clock: f.Clock, Timed: 3, Readings: 5}
	if f != want || f.LivePeak < 100 || f.HeapSum < 3*300 || f.LiveSum < 3*100 {
		t.Errorf("%+v\nwant %+v", f, want)
	}
	c.Restart()
	r.cycle()
	c.Add(&r.GC)
	if g := c.Figures(); g.Cycles != 1 || g.Readings != 1 || g.Forced != 0 {
		t.Errorf("anew: %+v", g)
	}
	if sum := f.Plus(c.Figures()); sum.Cycles != f.Cycles+1 || sum.CPU != r.CPU || sum.HeapPeak != 304 {
		t.Errorf("together: %+v", sum)
	}
}

// A process that ran already counts from the first reading on, and the count of cycles wraps
// around.
func TestCountFromNow(t *testing.T) {
	var r runtime
	r.Cycles = math.MaxUint32 - 1
	r.cycle()
	r.HeapEnd = 1 << 30 // before it was read
	var c Count
	if s := c.Add(&r.GC); len(s.Cycles) != 0 || s.Lost != 0 || s.CPU != (goruntime.GCCPU{}) {
		t.Errorf("%+v", s)
	}
	for range 2 {
		r.cycle()
	}
	s := c.Add(&r.GC)
	if got := numbers(s); !slices.Equal(got, []int{0, -1}) {
		t.Errorf("%v", got)
	}
	if f := c.Figures(); f.Cycles != 2 || f.PauseTotal != 1 || f.CPU.Dedicated != 6*ms || f.HeapPeak != r.HeapEnd {
		t.Errorf("%+v", f)
	}
}
