package trial

import (
	"math"
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

// Bins lose no event, however long it takes, and add up to what is known of all.
func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bins
		n := rapid.IntRange(0, 2000).Draw(t, "events")
		step := rapid.Int64Range(-1e5, 1e9).Draw(t, "ns")
		for i := range n {
			b.add(time.Duration(int64(i)*step), 1)
		}
		total := float64(rapid.IntRange(0, 1e6).Draw(t, "in all"))
		got := b.rates(total)
		if n == 0 {
			if got != nil {
				t.Fatalf("%+v of nothing", got)
			}
			return
		}
		if total == 0 {
			total = float64(n)
		}
		sum := 0.0
		for _, v := range got.Counts {
			sum += v
		}
		last := time.Duration(max(0, int64(n-1)*step)).Seconds()
		if len(got.Counts) > mostBins || math.Abs(sum-total) > 1e-6*total || float64(len(got.Counts))*got.BinSeconds <= last {
			t.Fatalf("%d bins of %v s with %v of %v events, the last at %v", len(got.Counts), got.BinSeconds, sum, total, last)
		}
	})
}
