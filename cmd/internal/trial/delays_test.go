package trial

import (
	"math"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/cmd/internal/trial/load"
)

const ms = time.Millisecond

func sameSpans(t *testing.T, what string, got []delay.Span, want ...float64) {
	t.Helper()
	ok := 2*len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = math.Abs(got[i].From-want[2*i]) < 1e-9 && math.Abs(got[i].To-want[2*i+1]) < 1e-9
	}
	if !ok {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// The phases of GC cycles are at their times, on the clock of the program.
func TestGCSpans(t *testing.T) {
	s := &Series{clock: uint64(time.Hour)}
	cycle := func(end, took, assist time.Duration) {
		s.cycles = append(s.cycles, moment{at: time.Hour + end, clock: took, first: ms, second: 2 * ms, pause: 3 * ms, assist: assist})
	}
	cycle(123*ms, 23*ms, 0)
	cycle(328*ms, 23*ms, 3*ms)
	cycle(528*ms, 23*ms, 2*ms)
	spans, ok := s.gcSpans(200 * ms)
	if !ok || len(spans) != 3 {
		t.Fatalf("%v, %v", spans, ok)
	}
	sameSpans(t, "cycles", spans[delay.Cycle], 0.305, 0.328, 0.505, 0.528)
	sameSpans(t, "pauses", spans[delay.Pause], 0.305, 0.306, 0.326, 0.328, 0.505, 0.506, 0.526, 0.528)
	sameSpans(t, "with assists", spans[delay.Assists], 0.305, 0.328)
	// A program that never collected has none, which is known.
	if spans, ok := new(Series).gcSpans(0); !ok || spans[delay.Cycle] == nil || len(spans[delay.Cycle]) != 0 {
		t.Errorf("%v, %v", spans, ok)
	}
	// One that was not seen in detail is as long as the others, if some were.
	s.cycles = append(s.cycles, moment{at: time.Hour + 700*ms, pause: ms})
	spans, _ = s.gcSpans(200 * ms)
	sameSpans(t, "one was not seen", spans[delay.Cycle], 0.305, 0.328, 0.505, 0.528, 0.677, 0.7)
	spans, ok = s.gcSpans(600 * ms)
	if _, cycles := spans[delay.Cycle]; !ok || cycles || len(spans) != 1 {
		t.Errorf("%v, %v", spans, ok)
	}
	sameSpans(t, "a stop", spans[delay.Pause], 0.699, 0.7)
}

// Where there were too many cycles to keep, none is placed.
func TestGCSpansAreBounded(t *testing.T) {
	s := &Series{}
	for i := range mostCycles + 10 {
		at := time.Duration(i) * ms
		s.collected(gccount.Step{Cycles: []gccount.Cycle{{Pause: goruntime.Pause{At: at, Length: ms / 2}}}})
	}
	if _, ok := s.gcSpans(5 * ms); ok {
		t.Error("cycles that were not kept are known")
	}
	s.finish()
	if n := s.GC.Len(); n == 0 || n > mostPoints || s.GC.Stride*n < mostCycles {
		t.Errorf("%d entries of %d cycles", n, s.GC.Stride)
	}
}

func TestMany(t *testing.T) {
	b := bins{width: 10 * ms, most: 100}
	// 100 ms have 40 events: bins with more than 8 are those at 20, 30 and 70 ms.
	for i, n := range []float64{0, 8, 9, 10, 0, 0, 0, 13} {
		b.add(time.Duration(i)*10*ms, n)
	}
	sameSpans(t, "more than twice the mean", b.many(time.Second, 1100*ms), 1.02, 1.04, 1.07, 1.08)
	if got := new(bins).many(0, time.Second); got == nil || len(got) != 0 {
		t.Errorf("nothing counted: %v", got)
	}
	even := bins{width: 10 * ms, most: 100}
	for i := range 10 {
		even.add(time.Duration(i)*10*ms, 100)
	}
	sameSpans(t, "the same everywhere", even.many(0, 100*ms))
}

func TestBinsAreBounded(t *testing.T) {
	b := bins{width: 10 * ms, most: 4}
	for i := range 9 {
		b.add(time.Duration(i)*10*ms, 1)
	}
	if b.width != 40*ms || len(b.n) != 3 || b.n[0] != 4 || b.n[1] != 4 || b.n[2] != 1 {
		t.Errorf("%+v", b)
	}
}

func TestSpansOfRequests(t *testing.T) {
	spans := requestSpans([]load.Request{{At: 0, Took: ms}, {At: 10 * ms, Took: 5 * ms}}, time.Second)
	sameSpans(t, "requests", spans, 1, 1.001, 1.01, 1.015)
	sameSpans(t, "in time", inTime(spans, 1.001, 2), 1.01, 1.015)
	sameSpans(t, "in time", inTime(spans, 0, 1.01), 1, 1.001)
}
