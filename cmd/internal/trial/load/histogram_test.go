package load

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"
)

// times returns n random times of a long-tailed distribution.
func times(rng *rand.Rand, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(1e5 * (1 + rng.ExpFloat64()*rng.ExpFloat64()*rng.ExpFloat64()))
	}
	return out
}

func histogramOf(values []int64) Histogram {
	h := newHDR()
	for _, v := range values {
		if err := h.RecordValue(v); err != nil {
			panic(err)
		}
	}
	return newHistogram(h)
}

// bucket returns the longest time of the bucket of v, as a histogram of v alone has it.
func bucket(v int64) int64 {
	one.Reset()
	if err := one.RecordValue(v); err != nil {
		panic(err)
	}
	return one.Max()
}

var one = newHDR()

// Percentiles are those of the sorted times, failed requests last, rounded up to their
// bucket, which is at most a thousandth wide.
func TestQuantilesAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		v := times(rng, 1+rng.IntN(3000))
		failed := rng.IntN(1 + len(v)/20)
		h := histogramOf(v)
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(v)
		for _, perMille := range []int{1, 500, 900, 990, 999, 1000} {
			rank := (perMille*(len(v)+failed) + 999) / 1000 // rounded up, in whole numbers
			got := h.quantile(float64(perMille)/1000, int64(failed))
			switch {
			case rank > len(v) && got != nil:
				t.Fatalf("%d‰ of %d and %d failed: %v, want none", perMille, len(v), failed, *got)
			case rank > len(v):
			case got == nil || *got != *seconds(bucket(v[rank-1])):
				t.Fatalf("%d‰ of %d and %d failed: %v, want that of %d ns", perMille, len(v), failed, got, v[rank-1])
			}
		}
	}
	for _, v := range []int64{0, 1, 999, 2048, 123_456, 1e9, highest - 1, highest} {
		if b := bucket(v); b < v || float64(b-v) > float64(v)/1000 {
			t.Errorf("%d ns counts as %d", v, b)
		}
	}
	var none Histogram
	if none.quantile(0.5, 0) != nil || none.quantile(0.5, 3) != nil || none.longest() != nil {
		t.Error("nothing has percentiles")
	}
}

func TestHistogramCheck(t *testing.T) {
	good := histogramOf([]int64{5, 5, 1e6, 1e9})
	data, err := json.Marshal(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Histogram){
		"":                         func(*Histogram) {},
		"other significant digits": func(h *Histogram) { h.SignificantFigures = 2 },
		"a count too few":          func(h *Histogram) { h.Counts = h.Counts[1:] },
		"a count of 0":             func(h *Histogram) { h.Counts[0] = 0 },
		"a negative count":         func(h *Histogram) { h.Counts[0] = -1 },
		"counts too large":         func(h *Histogram) { h.Counts[0], h.Counts[1] = 1<<62, 1<<62 },
		"out of order":             func(h *Histogram) { h.Nanoseconds[0] = 2e6 },
		"negative":                 func(h *Histogram) { h.Nanoseconds[0] = -5 },
		"too long":                 func(h *Histogram) { h.Nanoseconds[2] = 1 << 60 },
		"inside a bucket":          func(h *Histogram) { h.Nanoseconds[2]-- },
	} {
		var h Histogram
		if err := json.Unmarshal(data, &h); err != nil {
			t.Fatal(err)
		}
		spoil(&h)
		if err := h.check(); (err == nil) != (name == "") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
