package gctune

import (
	"testing"
	"time"
)

func TestSecondPWait(t *testing.T) {
	const mib = 1 << 20
	const from = 1000 * mib // allocated
	view := func(since, objects uint64) heapView {
		h := heapView{growth: 200 * mib, allocated: from + since*mib, objects: objects * mib}
		h.from.allocated = from
		return h
	}
	for _, c := range []struct {
		name              string
		since, last       uint64 // MiB allocated since the cycle, and at the last reading
		elapsed, lastWait time.Duration
		want              time.Duration
	}{
		// The goal is 200 MiB above the live heap, so that the second P comes at 130 MiB.
		{"soon", 131, 100, time.Second, time.Second, 0},
		{"at this rate", 120, 100, time.Second, time.Second, 250 * time.Millisecond},
		{"a long way", 10, 9, time.Second, time.Second, time.Second},
		{"a burst", 129, 1, 10 * time.Millisecond, time.Second, secondPTick / 2},
		{"nothing happens", 10, 10, time.Second, time.Second, 2 * time.Second},
		{"nothing happens for long", 10, 10, time.Second, 20 * time.Second, longestWait},
	} {
		h := view(c.since, c.since)
		h.elapsed = c.elapsed
		if got := h.wait(from+c.last*mib, c.lastWait); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// News that came late, and a heap that is not swept.
	for _, c := range []struct{ since, objects, want uint64 }{{100, 120, 120}, {1, 190, 2}, {0, 190, 0}, {130, 130, 130}} {
		h := view(c.since, c.objects)
		if got := h.grown(); got != c.want*mib {
			t.Errorf("%d MiB allocated, %d MiB of objects: %d MiB, want %d", c.since, c.objects, got/mib, c.want)
		}
	}
	// Of a live heap of 200 MiB.
	for _, c := range []struct {
		since, objects uint64
		want           bool
	}{{0, 100, false}, {0, 2, false}, {0, 1, true}, {50, 60, false}, {50, 51, true}, {50, 40, true}} {
		h := view(c.since, c.objects)
		h.live = 200 * mib
		if got := h.swept(); got != c.want {
			t.Errorf("%d MiB allocated, %d MiB of objects: swept is %v", c.since, c.objects, got)
		}
	}
}
