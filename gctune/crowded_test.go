package gctune

import (
	"testing"
	"time"
)

// TestCrowded has the kernel give a program half of the time that the runtime
// believes it has: the GC costs half as much, too.
func TestCrowded(t *testing.T) {
	var c collection
	for i := range 11 {
		n := time.Duration(i)
		got, idle := c.add(uint64(i), account{n * 200 * time.Millisecond, n * 20 * time.Millisecond, n * 2 * time.Second}, n*time.Second, false)
		if want := n * 100 * time.Millisecond; got != want || idle != want/10 {
			t.Fatalf("%v and %v after %d GC cycles, want %v and %v", got, idle, i, want, want/10)
		}
		// Without another GC cycle the accounts say nothing new.
		if again, _ := c.add(uint64(i), account{time.Hour, time.Hour, time.Hour}, time.Hour, false); again != got {
			t.Fatalf("%v without a GC cycle", again)
		}
	}
	// More than the runtime knows of is C's, and no reason to count more.
	if got, _ := c.add(11, account{2200 * time.Millisecond, 0, 21 * time.Second}, 100*time.Second, false); got != 1200*time.Millisecond {
		t.Errorf("%v", got)
	}
	// Two Ps on one CPU, while the GC ran only: the rest of the time hides it.
	if got, _ := c.add(12, account{2600 * time.Millisecond, 0, 31 * time.Second}, 110*time.Second, true); got != 1400*time.Millisecond {
		t.Errorf("%v with a second P", got)
	}
}
