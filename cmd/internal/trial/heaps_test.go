package trial

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/cmd/internal/program/gctrace"
)

// A line is what a process of the model prints about a GC cycle that ended at a time.
type line struct {
	process   int
	c         gctrace.Cycle
	end, read time.Duration
}

func genMicros(t *rapid.T, most time.Duration) time.Duration {
	return time.Duration(rapid.Int64Range(0, most.Microseconds()).Draw(t, "us")) * time.Microsecond
}

// mostLate is how late lines of the model are read.
const mostLate = 40 * time.Millisecond

func genLines(t *rapid.T, process int, zero time.Duration) (lines []line) {
	at, read := genMicros(t, 200*time.Millisecond), time.Duration(0)
	for n := range rapid.IntRange(0, 30).Draw(t, "cycles") {
		c := gctrace.Cycle{N: n + 1, HeapEnd: uint64(process+1)<<40 + uint64(n)<<20, HeapLive: uint64(n) << 20,
			HeapStart: uint64(n+1) << 20, Goal: uint64(n+2) << 20, AssistCPU: genMicros(t, time.Millisecond), BackgroundCPU: genMicros(t, 10*time.Millisecond)}
		c.SweepTermClock, c.MarkClock, c.MarkTermClock = genMicros(t, time.Millisecond), genMicros(t,
			50*time.Millisecond), genMicros(t, time.Millisecond)
		c.At = at.Truncate(time.Millisecond) // as it is printed
		at += c.SweepTermClock + c.MarkClock + c.MarkTermClock
		read = max(read, zero+at+genMicros(t, mostLate))
		lines = append(lines, line{process, c, zero + at, read})
		at += genMicros(t, 100*time.Millisecond)
	}
	return lines
}

// A GC cycle of a single process is drawn where it ended, but for the millisecond that
// the runtime rounds down by: exactly, if it is known when the process started, and else
// as late as the line that was read soonest. In bunches they are read, not drawn.
func TestHeapsOfOneProcess(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const running = time.Millisecond
		isGo := rapid.Bool().Draw(t, "Go")
		zero, slack := running, time.Duration(0)
		if !isGo {
			zero, slack = genMicros(t, 5*time.Second), mostLate
		}
		lines := genLines(t, 0, zero)
		var h heaps
		for _, l := range lines {
			h.add(l.c, l.read)
			slack = min(slack, l.read-l.end)
		}
		if !isGo {
			slack += time.Millisecond // the line that tells the start was rounded down, too
		}
		got := h.cycles(isGo, running)
		if len(h.all) > 1 || got.Len() != len(lines) || len(got.Seconds) != len(lines) || got.Stride > 1 || !slices.IsSorted(got.Seconds) {
			t.Fatalf("%d heaps, %d points, each %d, of %d cycles of one process", len(h.all), len(got.Seconds), got.Stride, len(lines))
		}
		for i, l := range lines {
			drawn := time.Duration(got.Seconds[i] * float64(time.Second)).Round(time.Microsecond)
			clock := l.c.SweepTermClock + l.c.MarkClock + l.c.MarkTermClock
			if got.End[i] != l.c.HeapEnd || got.Live[i] != l.c.HeapLive || got.Goal[i] != l.c.Goal || got.Start[i] != l.c.HeapStart ||
				got.Clock[i] != clock.Seconds() || got.Assist[i] != l.c.AssistCPU.Seconds() || got.Background[i] != l.c.BackgroundCPU.Seconds() {
				t.Fatalf("cycle %d is %+v, drawn as entry %d of %+v", i, l.c, i, got)
			}
			if drawn > l.read || drawn > l.end+slack || drawn < l.end-time.Millisecond {
				t.Fatalf("cycle %d ended at %v, was read at %v, and is drawn at %v; it may be %v late", i, l.end, l.read, drawn, slack)
			}
		}
	})
}

// The cycles of several processes are told apart, and drawn in the order of time.
func TestHeapsOfSeveralProcesses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var lines []line
		some := 0
		for p := range rapid.IntRange(2, 6).Draw(t, "processes") {
			// Far enough apart that there is no doubt.
			own := genLines(t, p, time.Duration(p+1)*time.Second+genMicros(t, 500*time.Millisecond))
			if lines = append(lines, own...); len(own) > 0 {
				some++
			}
		}
		slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(a.read, b.read) })
		var h heaps
		ends := map[uint64]time.Duration{}
		for _, l := range lines {
			h.add(l.c, l.read)
			ends[l.c.HeapEnd] = l.end
		}
		got := h.cycles(rapid.Bool().Draw(t, "Go"), time.Millisecond)
		if len(h.all) != some || got.Len() != len(lines) || !slices.IsSorted(got.Seconds) {
			t.Fatalf("%d heaps of %d processes, %d points of %d cycles", len(h.all), some, len(got.Seconds), len(lines))
		}
		for i, bytes := range got.End {
			drawn, end := time.Duration(got.Seconds[i]*float64(time.Second)).Round(time.Microsecond), ends[bytes]
			if drawn < end-time.Millisecond || drawn > end+mostLate+time.Millisecond {
				t.Fatalf("a cycle that ended at %v is drawn at %v", end, drawn)
			}
		}
	})
}

// Lines that are lost, or of a process that became another program, make no nonsense;
// many cycles stay within bounds, and the largest heap is among them.
func TestHeapsOdd(t *testing.T) {
	var h heaps
	for _, n := range []int{7, 8, 1, 2, 9, 1, 3} {
		h.add(gctrace.Cycle{N: n, At: time.Duration(n) * time.Second, HeapEnd: uint64(n)}, time.Duration(n)*time.Second/2) // from the future
	}
	got := h.cycles(true, 0)
	if got.Len() != 7 || !slices.IsSorted(got.Seconds) || got.Seconds[0] < 0 {
		t.Errorf("%+v", got)
	}
	var many heaps
	for p := range 3 {
		for n := range 2000 {
			at := time.Duration(n) * 10 * time.Millisecond
			many.add(gctrace.Cycle{N: n + 1, At: at, HeapEnd: uint64(n), AssistCPU: time.Millisecond}, at+time.Duration(p)*time.Minute)
		}
	}
	got = many.cycles(false, 0)
	assist := 0.0
	for _, v := range got.Assist {
		assist += v
	}
	if got.Len() > mostPoints || slices.Max(got.End) != 1999 || got.Stride*got.Len() < 6000 || math.Abs(assist-6) > 1e-6 {
		t.Errorf("%d points of %d cycles each, up to %d, %v s of assists", got.Len(), got.Stride, slices.Max(got.End), assist)
	}
	var none heaps
	if got := none.cycles(true, 0); got.Len() > 0 || got.Stride > 0 {
		t.Errorf("%+v", got)
	}
}
