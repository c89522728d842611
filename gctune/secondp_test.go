package gctune

import (
	"testing"
	"time"
)

func TestSecondPWait(t *testing.T) {
	const mib = 1 << 20
	e := cycleEnd{allocated: 1000 * mib}
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
		{"nothing happens for long", 10, 10, time.Second, 20 * time.Second, maxTick},
	} {
		h := heapView{growth: 200 * mib, allocated: e.allocated + c.since*mib, objects: c.since * mib, elapsed: c.elapsed}
		if got := h.wait(e, e.allocated+c.last*mib, c.lastWait); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
	// News that came late, and a heap that is not swept.
	for _, c := range []struct{ since, objects, want uint64 }{{100, 120, 120}, {1, 190, 2}, {0, 190, 0}, {130, 130, 130}} {
		h := heapView{allocated: e.allocated + c.since*mib, objects: c.objects * mib}
		if got := h.grown(e); got != c.want*mib {
			t.Errorf("%d MiB allocated, %d MiB of objects: %d MiB, want %d", c.since, c.objects, got/mib, c.want)
		}
	}
}
