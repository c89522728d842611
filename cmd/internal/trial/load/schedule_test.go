package load

import (
	"math"
	"slices"
	"testing"
	"time"
)

// planned returns the warm-up's and the measured arrivals of a load.
func planned(o Options) (warmup, measured []time.Duration) {
	for a := range o.arrivals() {
		if a.measured {
			measured = append(measured, a.at)
		} else {
			warmup = append(warmup, a.at)
		}
	}
	return warmup, measured
}

// A constant load has rate times duration requests, each at i/rate, to the nanosecond.
func TestConstantArrivals(t *testing.T) {
	for _, tt := range []struct {
		rate             float64
		warmup, duration time.Duration
		warm, measured   int
	}{
		{2000, 2 * time.Second, 10 * time.Second, 4000, 20000},
		{50000, 0, time.Second, 0, 50000},
		{50, time.Second, 2 * time.Second, 50, 100},
		{3, 500 * time.Millisecond, 10 * time.Second, 2, 30},
		{30000, 0, 100 * time.Millisecond, 0, 3000},
		{0.1, 0, 30 * time.Second, 0, 3},
		{0.1, 0, time.Second, 0, 1},
		{1.5, 0, time.Second, 0, 2},
		{1.1, 0, 10 * time.Second, 0, 11},
	} {
		warm, measured := planned(Options{Rate: tt.rate, Warmup: tt.warmup, Duration: tt.duration})
		if len(warm) != tt.warm || len(measured) != tt.measured {
			t.Errorf("%v/s for %v + %v: %d + %d requests, want %d + %d", tt.rate, tt.warmup, tt.duration, len(warm), len(measured), tt.warm, tt.measured)
			continue
		}
		for i, at := range measured {
			if want := tt.warmup + time.Duration(math.Round(float64(i)*1e9/tt.rate)); at != want || at >= tt.warmup+tt.duration {
				t.Fatalf("%v/s: request %d at %v, want %v", tt.rate, i, at, want)
			}
		}
	}
	// Rates that do not divide a second do not drift: request 30,000 is at one second.
	if _, m := planned(Options{Rate: 30000, Duration: 2 * time.Second}); m[30000] != time.Second || m[1] != 33333*time.Nanosecond {
		t.Errorf("request 1 at %v, request 30000 at %v", m[1], m[30000])
	}
}

// Poisson arrivals are those of the seed, in order, and as many and as far apart as a
// Poisson process has them.
func TestPoissonArrivals(t *testing.T) {
	o := Options{Rate: 1000, Warmup: time.Second, Duration: 100 * time.Second, Arrivals: Poisson, Seed: 1}
	warm, measured := planned(o)
	again, _ := planned(o)
	if !slices.Equal(warm, again) {
		t.Error("the same seed has other arrivals")
	}
	o.Seed = 2
	if other, _ := planned(o); slices.Equal(warm, other) {
		t.Error("another seed has the same arrivals")
	}
	if n := len(measured); math.Abs(float64(n)-1e5) > 4*math.Sqrt(1e5) {
		t.Errorf("%d requests, want 100,000 within four standard deviations", n)
	}
	if !slices.IsSorted(measured) || warm[len(warm)-1] >= o.Warmup || measured[0] < o.Warmup || measured[len(measured)-1] >= 101*time.Second {
		t.Error("arrivals out of order, or outside of their part")
	}
	long := 0 // a share of exp(-1) of gaps is longer than the mean
	for i := 1; i < len(measured); i++ {
		if measured[i]-measured[i-1] > time.Millisecond {
			long++
		}
	}
	if share := float64(long) / float64(len(measured)-1); math.Abs(share-math.Exp(-1)) > 0.01 {
		t.Errorf("%.3f of the gaps are longer than the mean, want %.3f", share, math.Exp(-1))
	}
}
