package trial

import (
	"testing"
	"time"
)

func TestTickAfter(t *testing.T) {
	const ms = time.Millisecond
	for _, tt := range []struct{ now, d, want time.Duration }{
		{0, ms, ms}, // shorter than a beat: as asked
		{3 * ms, 4 * ms, 4 * ms},
		{0, 5 * ms, 5 * ms},
		{1 * ms, 5 * ms, 4 * ms},
		{4 * ms, 5 * ms, 6 * ms}, // the next beat is too near
		{13 * ms, 39 * ms, 27 * ms},
		{15 * ms, 40 * ms, 25 * ms},
		{79 * ms, 79 * ms, 41 * ms},
		{81 * ms, 100 * ms, 79 * ms},
	} {
		if got := tickAfter(tt.now, tt.d); got != tt.want {
			t.Errorf("at %v, in %v: got %v, want %v", tt.now, tt.d, got, tt.want)
		}
	}
	// Looks of any two intervals meet: the rarer one never wakes folio alone.
	for _, d := range []time.Duration{5 * ms, 10 * ms, 20 * ms, 40 * ms, 80 * ms} {
		now := 3 * ms
		for range 100 {
			now += tickAfter(now, d)
			if now%d != 0 {
				t.Fatalf("looks every %v: one at %v", d, now)
			}
		}
	}
}
