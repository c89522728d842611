package trial

import (
	"math"
	"testing"
	"time"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
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
	var h heaps
	cycle := func(n int, at, mark, assist time.Duration) gctrace.Cycle {
		return gctrace.Cycle{N: n, At: at, SweepTermClock: ms, MarkClock: mark, MarkTermClock: 2 * ms, AssistCPU: assist}
	}
	h.add(cycle(1, 100*ms, 20*ms, 0), 200*ms)
	h.add(cycle(2, 300*ms, 20*ms, 2*ms), 330*ms) // read 7 ms after its end
	h.add(cycle(3, 500*ms, 20*ms, 2*ms-1), 540*ms)
	h.cycles(true, 5*ms)
	spans, ok := h.gcSpans(200 * ms)
	if !ok || len(spans) != 3 {
		t.Fatalf("%v, %v", spans, ok)
	}
	sameSpans(t, "cycles", spans[delay.Cycle], 0.305, 0.328, 0.505, 0.528)
	sameSpans(t, "pauses", spans[delay.Pause], 0.305, 0.306, 0.326, 0.328, 0.505, 0.506, 0.526, 0.528)
	sameSpans(t, "with assists", spans[delay.Assists], 0.305, 0.328)
	// A program that never collected has none, which is known.
	if spans, ok := new(heaps).gcSpans(0); !ok || spans[delay.Cycle] == nil || len(spans[delay.Cycle]) != 0 {
		t.Errorf("%v, %v", spans, ok)
	}
}

// Where there were too many cycles to keep, the last are known.
func TestGCSpansAreBounded(t *testing.T) {
	var h heaps
	const n = mostPhases + 10
	for i := 1; i <= n; i++ {
		at := time.Duration(i) * ms
		h.add(gctrace.Cycle{N: i, At: at, MarkClock: ms / 2}, at+ms)
	}
	h.cycles(true, 0)
	if _, ok := h.gcSpans(5 * ms); ok {
		t.Error("cycles that were not kept are known")
	}
	if spans, ok := h.gcSpans(1000 * ms); !ok || len(spans[delay.Cycle]) != n-999 {
		t.Errorf("%v: %d cycles", ok, len(spans[delay.Cycle]))
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
