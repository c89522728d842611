package load

import (
	"math/rand/v2"
	"testing"
)

// manyTimes is a histogram of n requests, of which one in a hundred took ten times as long.
func manyTimes(n int) Histogram {
	h, r := newHDR(), rand.New(rand.NewPCG(1, 2))
	for i := range n {
		t := 1e6 + r.Int64N(1e6)
		if i%100 == 0 {
			t *= 10
		}
		_ = h.RecordValue(t)
	}
	return newHistogram(h)
}

func BenchmarkHistogram(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		manyTimes(10_000)
	}
}

func BenchmarkQuantile(b *testing.B) {
	h := manyTimes(1_000_000)
	for b.Loop() {
		if h.quantile(0.99, 10) == nil {
			b.Fatal("no quantile")
		}
	}
}

func BenchmarkCheck(b *testing.B) {
	h := manyTimes(1_000_000)
	b.ReportAllocs()
	for b.Loop() {
		if err := h.check(); err != nil {
			b.Fatal(err)
		}
	}
}
