package cputime

import (
	"testing"
	"time"
)

func TestUsage(t *testing.T) {
	u := Usage{Least: 50 * time.Millisecond}
	now := time.Now()
	for _, c := range []struct {
		after, cpu time.Duration
		share      float64
	}{
		{0, time.Second, 0},
		{10 * time.Millisecond, 2 * time.Second, 0}, // too soon
		{100 * time.Millisecond, time.Second + 50*time.Millisecond, 0.5},
		{120 * time.Millisecond, 3 * time.Second, 0.5},
		{1100 * time.Millisecond, 3*time.Second + 50*time.Millisecond, 2},
	} {
		if u.Note(now.Add(c.after), c.cpu); u.Share != c.share {
			t.Errorf("after %v: %v, want %v", c.after, u.Share, c.share)
		}
	}
}

// TestProcess: the CPU time of a process that works goes on.
func TestProcess(t *testing.T) {
	before, ok := Process()
	if !ok {
		t.Skip("not known on this system")
	}
	for n := 0; ; n++ {
		if now, _ := Process(); now > before {
			break
		} else if n == 1<<30 {
			t.Fatalf("still %v", now)
		}
	}
}
