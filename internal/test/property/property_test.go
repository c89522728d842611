package property

import (
	"math"
	"testing"
)

// Draws stay in their range, which may be all numbers, and come to both of its ends.
func TestRanges(t *testing.T) {
	low, high, checked := false, false, 0
	Check(t, func(t *T) {
		checked++
		if n := t.Int("n", -3, 4); n < -3 || n > 4 {
			t.Errorf("%d", n)
		} else {
			low, high = low || n == -3, high || n == 4
		}
		if x := t.Float("x", 1e-9, 1e9); x < 1e-9 || x > 1e9 {
			t.Errorf("%v", x)
		}
		t.Uint("all", 0, math.MaxUint64)
		if text := t.Strings("text", 3, "a"); len(text) > 3 {
			t.Errorf("%q", text)
		}
	})
	if checked != inputs || !low || !high {
		t.Errorf("%d inputs; the least was drawn: %v, the most: %v", checked, low, high)
	}
}

// The same seed draws the same, once.
func TestSeed(t *testing.T) {
	t.Setenv(seedVariable, "7")
	var drawn []uint64
	for range 2 {
		Check(t, func(t *T) { drawn = append(drawn, t.Uint("n", 0, math.MaxUint64)) })
	}
	if len(drawn) != 2 || drawn[0] != drawn[1] {
		t.Errorf("drew %v", drawn)
	}
}
