package diagnose

import (
	"strings"
	"testing"
)

// Of a process that ran already the longest pause may be unknown, and no trace is spoken of.
func TestAttachedGC(t *testing.T) {
	s := &RunFacts{PID: 7, CPU: 2, Cycles: new(3.0), Pause: new(0.002), RuntimeCPU: new(0.5)}
	got := strings.Join(s.gc(), " ")
	if !strings.Contains(got, "3 cycles; stop-the-world 2.000ms total.") || strings.Contains(got, "max") || strings.Contains(got, "gctrace") {
		t.Error(got)
	}
	s.PauseMax = new(0.001)
	if got = strings.Join(s.gc(), " "); !strings.Contains(got, "total, 1.000ms max.") {
		t.Error(got)
	}
}
