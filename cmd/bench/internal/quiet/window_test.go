package quiet

import (
	"testing"
	"time"
)

// TestWindow: a round begins only where it would end in time, and none is cut.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		most  time.Duration
		round []time.Duration // how long each takes
		want  int             // rounds made
	}{
		{0, []time.Duration{time.Hour, time.Hour}, 2},
		{time.Minute, []time.Duration{20 * time.Second, 20 * time.Second, 20 * time.Second, time.Second}, 3},
		{time.Minute, []time.Duration{25 * time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second}, 3},
		{time.Minute, []time.Duration{2 * time.Minute, time.Second}, 1},
	} {
		now := time.Unix(1000, 0)
		w := Window{Most: c.most, Now: func() time.Time { return now }}
		made := 0
		for round, d := range c.round {
			ran := 0
			for range 2 { // arms
				if !w.Fits(round) {
					break
				}
				ran++
				now = now.Add(d / 2)
			}
			if ran == 1 {
				t.Errorf("%v: round %d was cut", c.most, round)
			}
			if ran == 0 {
				break
			}
			made++
		}
		if made != c.want {
			t.Errorf("%v %v: %d rounds, want %d", c.most, c.round, made, c.want)
		}
	}
}
