package trial

import (
	"cmp"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/foliomem/folio/internal/program/gctrace"
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
		c := gctrace.Cycle{N: n + 1, HeapEnd: uint64(process+1)<<40 + uint64(n)<<20, HeapLive: uint64(n) << 20}
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
		size, live := h.tracks(isGo, running)
		if len(h.all) > 1 || len(size.Seconds) != len(lines) || size.Stride > 1 ||
			!slices.Equal(size.Seconds, live.Seconds) || !slices.IsSorted(size.Seconds) {
			t.Fatalf("%d heaps, %d points, each %d, of %d cycles of one process", len(h.all), len(size.Seconds), size.Stride, len(lines))
		}
		for i, l := range lines {
			drawn := time.Duration(size.Seconds[i] * float64(time.Second)).Round(time.Microsecond)
			if size.Bytes[i] != l.c.HeapEnd || live.Bytes[i] != l.c.HeapLive {
				t.Fatalf("cycle %d has %d bytes, %d live", i, size.Bytes[i], live.Bytes[i])
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
		size, live := h.tracks(rapid.Bool().Draw(t, "Go"), time.Millisecond)
		if len(h.all) != some || len(size.Seconds) != len(lines) || len(live.Seconds) != len(lines) || !slices.IsSorted(size.Seconds) {
			t.Fatalf("%d heaps of %d processes, %d points of %d cycles", len(h.all), some, len(size.Seconds), len(lines))
		}
		for i, bytes := range size.Bytes {
			drawn, end := time.Duration(size.Seconds[i]*float64(time.Second)).Round(time.Microsecond), ends[bytes]
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
	size, _ := h.tracks(true, 0)
	if len(size.Seconds) != 7 || !slices.IsSorted(size.Seconds) || size.Seconds[0] < 0 {
		t.Errorf("%+v", size)
	}
	var many heaps
	for p := range 3 {
		for n := range 2000 {
			at := time.Duration(n) * 10 * time.Millisecond
			many.add(gctrace.Cycle{N: n + 1, At: at, HeapEnd: uint64(n)}, at+time.Duration(p)*time.Minute)
		}
	}
	size, live := many.tracks(false, 0)
	if len(size.Bytes) > mostPoints || slices.Max(size.Bytes) != 1999 || size.Stride*len(size.Bytes) < 6000 ||
		len(live.Bytes) != len(size.Bytes) {
		t.Errorf("%d points of %d cycles each, up to %d", len(size.Bytes), size.Stride, slices.Max(size.Bytes))
	}
	var none heaps
	if size, _ := none.tracks(true, 0); len(size.Bytes) > 0 || size.Stride > 0 {
		t.Errorf("%+v", size)
	}
}
