package main

import "testing"

// TestBestStatic has two settings that differ by luck only: neither may be taken in
// the round in which it was lucky, and one that is killed is none.
func TestBestStatic(t *testing.T) {
	of := func(rates ...float64) (out []result) {
		for _, v := range rates {
			out = append(out, result{Rate: v, killed: v == 0})
		}
		return out
	}
	arms := []arm{{name: "default"}, static("100", 0.9), static("200", 0.9), static("off", 0.96)}
	results := [][]result{of(1, 1, 1), of(30, 10, 11), of(10, 30, 11), of(99, 99, 0)}
	want := []float64{10, 10, 11}
	for i, r := range bestStatic(arms, results) {
		if r.Rate != want[i] {
			t.Errorf("round %d: the best static did %v, want %v", i, r.Rate, want[i])
		}
	}
	if best := fastest(arms, results, -1); best != 1 && best != 2 {
		t.Errorf("arm %d is the fastest, want 1 or 2", best)
	}
	if best := fastest(arms[:1], results[:1], -1); best != 0 {
		t.Errorf("arm %d is the fastest of none", best)
	}
}
