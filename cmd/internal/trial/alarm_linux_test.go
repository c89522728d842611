package trial

import (
	"testing"
	"time"

	"github.com/foliomem/folio/internal/test/testenv"
)

func TestAlarm(t *testing.T) {
	a, err := newAlarm()
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	for range 3 {
		const d = 10 * time.Millisecond
		start := time.Now()
		a.wait(d)
		if took := time.Since(start); took < d {
			t.Errorf("waited %v, want at least %v", took, d)
		}
	}
	// Before a wait, during it and after: whoever waits is let go for good.
	for range 200 {
		b, err := newAlarm()
		if err != nil {
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			b.wait(time.Hour)
			b.wait(time.Hour)
		}()
		b.ring()
		select {
		case <-done:
		case <-time.After(testenv.Patience):
			t.Fatal("nobody heard the alarm")
		}
		if !b.rung.Load() {
			t.Fatal("the alarm does not know that it was rung")
		}
		b.close()
	}
}
