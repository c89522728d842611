package gccontrol

import "time"

// trend tells a leak from a peak: it keeps the least live heap of each of the
// last stretches of time. Under a peak that minimum comes back down, or stays;
// under a leak each is above the one before.
//
// Stretches double in length when there are too many, so a long life is judged
// by long stretches: the start-up of a program, which looks like a leak too, is
// forgotten.
type trend struct {
	stretch time.Duration
	start   time.Duration // of the last stretch
	least   []uint64      // the last one is not complete
}

const (
	keepStretches = 16
	leakStretches = 8
)

func (t *trend) add(now time.Duration, live uint64) {
	if len(t.least) == 0 {
		t.stretch, t.start, t.least = time.Second, now, append(t.least, live)
		return
	}
	if now-t.start < t.stretch {
		last := &t.least[len(t.least)-1]
		*last = min(*last, live)
		return
	}
	// Stretches without a GC cycle are as the one before.
	t.start = now
	if len(t.least) == keepStretches {
		half := t.least[:0]
		for i := 0; i < keepStretches; i += 2 {
			half = append(half, min(t.least[i], t.least[i+1]))
		}
		t.least, t.stretch = half, 2*t.stretch
	}
	t.least = append(t.least, live)
}

// growth is by how many bytes a second the live heap grows, if it grew from each
// of the last complete stretches to the next and by half in all.
func (t *trend) growth() float64 {
	n := len(t.least) - 1
	if n < leakStretches {
		return 0
	}
	last := t.least[n-leakStretches : n]
	for i := 1; i < len(last); i++ {
		if last[i] <= last[i-1] {
			return 0
		}
	}
	first, end := last[0], last[len(last)-1]
	if end < first+first/2 && end < first+(64<<20) {
		return 0
	}
	return float64(end-first) / (float64(len(last)-1) * t.stretch.Seconds())
}
