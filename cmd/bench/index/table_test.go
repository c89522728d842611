package main

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// TestBest: the best of a round is chosen by the other rounds, and never one that was killed.
func TestBest(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct{ arms, want [][]float64 }{
		{[][]float64{{1, 10, 10}, {5, 5, 5}}, [][]float64{{5, 5, 5}}},
		{[][]float64{{4, 4, 9}, {5, 5, 5}}, [][]float64{{5, 5, 9}}},
		{[][]float64{{1, nan, 1}, {5, 5, 5}}, [][]float64{{5, 5, 5}}},
		{[][]float64{{3}, {5}}, [][]float64{{3}}},
	} {
		if got := best(c.arms); !slices.Equal(got, c.want[0]) {
			t.Errorf("%v: %v, want %v", c.arms, got, c.want[0])
		}
	}
}

// TestTables: a process that was killed has no figures, and its round does not count.
func TestTables(t *testing.T) {
	r := func(first float64) result {
		return result{figures: map[string]float64{"first_seconds": first, "op_seconds": 2, "documents": 100, "peak_rss_bytes": 64 * mib}}
	}
	arms := []arm{{name: "default", build: stock}, {name: auto, build: auto}, {name: "patched", build: patched}}
	results := [][]result{{r(4), r(4)}, {r(2), {killed: true}}, {r(1), r(1)}}
	var b strings.Builder
	compareTable(&b, arms, results)
	lines := strings.Split(b.String(), "\n")
	const want = "| first | auto | 50 | 2.000x [2.000, 2.000] | 0.500x [0.500, 0.500] | - | - | 64 | - | - | 1 of 2 |"
	if lines[3] != want {
		t.Errorf("%s\nwant\n%s", lines[3], want)
	}
	b.Reset()
	curveTable(&b, arms[:1], results[:1])
	if want := "| default | 64 | 1.00x | 25 | 1.000x [1.000, 1.000] | 50 | 1.000x [1.000, 1.000] | - | - |"; !strings.Contains(b.String(), want) {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
