package load

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"sort"
)

// A Merged is several runs of one load together.
type Merged struct {
	Runs int // that count
	// LateRuns were left out because the generator was late, PartialRuns because they
	// were interrupted.
	LateRuns, PartialRuns int

	Counts
	Errors []ErrorText // the first of each kind of failure that has a text
	// Latency is of the histograms merged: of all requests, as if of one run.
	Latency Latency
	// Intervals are 95% intervals of the percentiles; those that are not known are nil.
	Intervals Intervals
}

// Intervals are those of the percentiles of a Latency. The maximum has none: resampling
// cannot exceed what was seen.
type Intervals struct{ P50, P90, P99, P999 *Interval }

// An Interval is in seconds.
type Interval struct{ Lo, Hi float64 }

// Of the bootstrap.
const (
	resamples = 2000
	// fewestRuns is how many runs an interval needs: fewer cannot tell how runs differ.
	fewestRuns = 6
	confidence = 0.95
)

// ErrDifferent says that results are not of one load.
var ErrDifferent = errors.New("the runs are of different loads")

// ErrNoRuns says that no run counts.
var ErrNoRuns = errors.New("no run is valid: the generator was late in all of them, or they were interrupted")

// Merge puts runs of one load together. Percentiles are those of the merged histograms,
// not means of percentiles. Their intervals come from resampling whole runs, with a fixed
// seed: requests of one run share its machine, its heap and its neighbors, and are not
// independent. Runs in which the generator was late, and interrupted ones, are left out.
func Merge(results ...*Result) (*Merged, error) {
	m, c, err := pool(results)
	if err == nil {
		m.Intervals = c.intervals()
	}
	return m, err
}

// Pool is [Merge] without intervals, which take most of its time.
func Pool(results ...*Result) (*Merged, error) {
	m, _, err := pool(results)
	return m, err
}

func pool(results []*Result) (*Merged, *cumulative, error) {
	m := &Merged{}
	var runs []*Result
	for _, r := range results {
		switch {
		case len(results) > 0 && !reflect.DeepEqual(r.Settings, results[0].Settings):
			return nil, nil, ErrDifferent
		case r.Late:
			m.LateRuns++
		case !r.Complete:
			m.PartialRuns++
		default:
			runs = append(runs, r)
		}
	}
	if m.Runs = len(runs); m.Runs == 0 {
		return nil, nil, ErrNoRuns
	}
	for _, r := range runs {
		m.Counts.add(r.Counts)
		m.Errors = addFirst(m.Errors, r.Errors...)
	}
	c := cumulate(runs)
	m.Latency = newLatency(c.histogram(), m.Failed)
	return m, c, nil
}

func (c *Counts) add(o Counts) {
	c.Intended += o.Intended
	c.Succeeded += o.Succeeded
	c.Failed += o.Failed
	f, g := &c.Failures, o.Failures
	f.NotSent += g.NotSent
	f.Timeout += g.Timeout
	f.Connection += g.Connection
	f.Status += g.Status
	f.GRPC += g.GRPC
	f.Unanswered += g.Unanswered
}

// A cumulative has the buckets of several runs, and how many requests of each run are in
// a bucket or below it.
type cumulative struct {
	nanoseconds []int64
	below       [][]int64 // by run and bucket
	intended    []int64   // by run
}

func cumulate(runs []*Result) *cumulative {
	c := &cumulative{}
	for _, r := range runs {
		c.nanoseconds = append(c.nanoseconds, r.Latency.Histogram.Nanoseconds...)
		c.intended = append(c.intended, r.Intended)
	}
	slices.Sort(c.nanoseconds)
	c.nanoseconds = slices.Compact(c.nanoseconds)
	for _, r := range runs {
		h, below, sum, next := r.Latency.Histogram, make([]int64, len(c.nanoseconds)), int64(0), 0
		for i, v := range c.nanoseconds {
			if next < len(h.Nanoseconds) && h.Nanoseconds[next] == v {
				sum += h.Counts[next]
				next++
			}
			below[i] = sum
		}
		c.below = append(c.below, below)
	}
	return c
}

// histogram is that of all runs.
func (c *cumulative) histogram() Histogram {
	h := Histogram{significantFigures, c.nanoseconds, make([]int64, len(c.nanoseconds))}
	for _, below := range c.below {
		before := int64(0)
		for i, n := range below {
			h.Counts[i] += n - before
			before = n
		}
	}
	return h
}

// quantile returns the quantile q of runs, each as many times as times says, in
// nanoseconds; false if it falls among failed requests.
func (c *cumulative) quantile(q float64, times []int64) (int64, bool) {
	var intended int64
	for r, n := range times {
		intended += n * c.intended[r]
	}
	rank := rankOf(q, intended)
	at := sort.Search(len(c.nanoseconds), func(i int) bool {
		var below int64
		for r, n := range times {
			if n > 0 {
				below += n * c.below[r][i]
			}
		}
		return below >= rank
	})
	if at == len(c.nanoseconds) {
		return 0, false
	}
	return c.nanoseconds[at], true
}

// intervals resamples the runs. A percentile that falls among failed requests in some
// resample has no interval.
func (c *cumulative) intervals() (out Intervals) {
	n := len(c.below)
	if n < fewestRuns {
		return out
	}
	each := []struct {
		q  float64
		to **Interval
	}{{0.5, &out.P50}, {0.9, &out.P90}, {0.99, &out.P99}, {0.999, &out.P999}}
	values := make([][]int64, len(each))
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	times := make([]int64, n)
	for range resamples {
		clear(times)
		for range n {
			times[rng.IntN(n)]++
		}
		for i, e := range each {
			if v, ok := c.quantile(e.q, times); ok {
				values[i] = append(values[i], v)
			}
		}
	}
	cut := int(resamples * (1 - confidence) / 2)
	for i, e := range each {
		if v := values[i]; len(v) == resamples {
			slices.Sort(v)
			*e.to = &Interval{*seconds(v[cut]), *seconds(v[resamples-1-cut])}
		}
	}
	return out
}
