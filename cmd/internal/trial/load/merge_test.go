package load

import (
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
)

var nan = math.NaN()

// runOf is a result with these times, and so many failed requests.
func runOf(values []int64, failed int64) *Result {
	r := &Result{Complete: true, Settings: Settings{URLs: []string{"http://a/"}}}
	r.Failures.Timeout = failed
	r.Failed, r.Succeeded = failed, int64(len(values))
	r.Intended = r.Failed + r.Succeeded
	r.Latency = newLatency(histogramOf(values), failed)
	return r
}

// Merged percentiles are those of all requests of all runs, sorted.
func TestMergeAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for range 20 {
		var runs []*Result
		var all []int64
		var failed int64
		for range 1 + rng.IntN(8) {
			v, f := times(rng, rng.IntN(500)), int64(rng.IntN(10))
			runs = append(runs, runOf(v, f))
			all = append(all, v...)
			failed += f
		}
		m, err := Merge(runs...)
		if err != nil {
			t.Fatal(err)
		}
		want := runOf(all, failed)
		if m.Runs != len(runs) || m.Counts != want.Counts || !reflect.DeepEqual(m.Latency, want.Latency) {
			t.Fatalf("%d runs: %+v\nwant %+v", len(runs), m, want)
		}
	}
}

// The interval is that of all resamples of six runs, which are few enough to try.
func TestIntervalsAgainstAllResamples(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const n = 6
	var runs []*Result
	values := make([][]int64, n)
	for i := range n {
		values[i] = times(rng, 40+10*i)
		for j := range values[i] {
			values[i][j] *= int64(1 + i)
		}
		runs = append(runs, runOf(values[i], 0))
	}
	m, err := Merge(runs...)
	if err != nil {
		t.Fatal(err)
	}
	again, _ := Merge(runs...)
	if !reflect.DeepEqual(m, again) {
		t.Error("the same runs have other intervals: the seed is not fixed")
	}
	c := cumulate(runs)
	for _, e := range []struct {
		q   float64
		got *Interval
	}{{0.5, m.Intervals.P50}, {0.9, m.Intervals.P90}, {0.99, m.Intervals.P99}} {
		var all []int64 // of the n^n resamples
		for code := range int(math.Pow(n, n)) {
			counts := make([]int64, n)
			var pooled []int64
			sorting := code%397 == 0 // one in 397 also by sorting
			for range n {
				counts[code%n]++
				if sorting {
					pooled = append(pooled, values[code%n]...)
				}
				code /= n
			}
			v, ok := c.quantile(e.q, counts)
			if !ok {
				t.Fatal("no quantile of requests that all succeeded")
			}
			if sorting {
				slices.Sort(pooled)
				if want := bucket(pooled[rankOf(e.q, int64(len(pooled)))-1]); v != want {
					t.Fatalf("quantile %v of %v: %d, want %d", e.q, counts, v, want)
				}
			}
			all = append(all, v)
		}
		slices.Sort(all)
		// 2,000 of the resamples tell the 2.5th percentile to within a percent of rank.
		at := func(q float64) float64 { return *seconds(all[int(q*float64(len(all)))]) }
		if e.got == nil || e.got.Lo < at(0.01) || e.got.Lo > at(0.04) || e.got.Hi < at(0.96) || e.got.Hi > at(0.99) {
			t.Errorf("q %v: %v, want about %v to %v", e.q, e.got, at(0.025), at(0.975))
		}
	}
}

func TestMergeLeavesOut(t *testing.T) {
	good := func() *Result { return runOf([]int64{1000, 2000, 3000}, 0) }
	late, partial, failing := good(), good(), runOf([]int64{1000, 2000, 3000}, 1)
	late.Late, partial.Complete = true, false
	m, err := Merge(good(), late, good(), partial)
	if err != nil || m.Runs != 2 || m.LateRuns != 1 || m.PartialRuns != 1 || m.Intended != 6 || m.Intervals != (Intervals{}) {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Merge(late, partial); !errors.Is(err, ErrNoRuns) {
		t.Errorf("of none: %v", err)
	}
	if _, err := Merge(); !errors.Is(err, ErrNoRuns) {
		t.Errorf("of nothing: %v", err)
	}
	other := good()
	other.Settings.Rate = 7
	if _, err := Merge(good(), other); err == nil {
		t.Error("different loads were merged")
	}
	// The 99th percentile falls among the failed requests of some resamples.
	m, err = Merge(good(), good(), good(), good(), good(), failing)
	if err != nil || m.Intervals.P50 == nil || m.Intervals.P99 != nil || m.Latency.P99 != nil || m.Failed != 1 {
		t.Errorf("%+v, %v", m, err)
	}
}
