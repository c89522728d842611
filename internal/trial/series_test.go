package trial

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A track holds at most so many points, in the order of time, never forgets the
// peak, and counts for what each point stands.
func TestTrack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 5*mostPoints).Draw(t, "looks")
		values := make([]uint64, n)
		var track Track
		for i := range values {
			values[i] = rapid.Uint64Range(0, 1<<40).Draw(t, "bytes")
			track.add(time.Duration(i)*time.Millisecond, values[i])
		}
		if len(track.Bytes) != len(track.Seconds) || len(track.Bytes) > mostPoints || n > 0 && len(track.Bytes) == 0 {
			t.Fatalf("%d looks: %d values at %d times", n, len(track.Bytes), len(track.Seconds))
		}
		if !slices.IsSorted(track.Seconds) {
			t.Fatal("times are not in order")
		}
		if n > 0 && slices.Max(values) != slices.Max(track.Bytes) {
			t.Fatalf("peak %d became %d", slices.Max(values), slices.Max(track.Bytes))
		}
		if most := len(track.Bytes) * track.Stride; n > most || n <= most-2*track.Stride && n > 0 {
			t.Fatalf("%d looks, but %d values of %d each", n, len(track.Bytes), track.Stride)
		}
	})
}
