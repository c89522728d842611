package shortage

import (
	"testing"
	"time"
)

func TestPace(t *testing.T) {
	for _, c := range []struct {
		left float64
		cost time.Duration
		want time.Duration
	}{
		{1, 0, time.Second}, {0.5, 0, time.Second}, {0.1, 0, 200 * time.Millisecond}, {0.02, 0, 40 * time.Millisecond},
		{0.001, 0, least}, {0, 0, least}, {-1, 0, least},
		{0, 40 * time.Microsecond, 60 * time.Millisecond}, // a look is dear
		{0.1, 40 * time.Microsecond, 200 * time.Millisecond},
		{0, time.Hour, time.Second},
	} {
		if got := pace(c.left, c.cost); got != c.want {
			t.Errorf("%v left, %v a look: %v, want %v", c.left, c.cost, got, c.want)
		}
	}
	// The fastest growth that is to be noticed cannot pass what is left before the next look.
	for left := 0.0; left < 0.25; left += 0.001 {
		if grown := pace(left, 0).Seconds() * fastest; grown > max(left, least.Seconds()*fastest) {
			t.Errorf("%v left, %v passed", left, grown)
		}
	}
}

func TestCosts(t *testing.T) {
	var c costs
	if c.least() != 0 {
		t.Error(c.least())
	}
	for _, d := range []time.Duration{5, 3, 9} {
		c.add(d)
	}
	if c.least() != 3 {
		t.Error(c.least())
	}
	for range 8 {
		c.add(7)
	}
	if c.least() != 7 {
		t.Error(c.least())
	}
}

func TestShare(t *testing.T) {
	if e := (Event{Use: 1}); e.Share() != 0 {
		t.Error(e.Share())
	}
	if threshold(1000) != 950 || calm(1000) != 900 {
		t.Error(threshold(1000), calm(1000))
	}
}
