package load

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms hold times of 1 ns to an hour. The width of a bucket is at most a
// thousandth of the time. All have the same buckets, so they merge without a loss.
const (
	lowest, highest    = 1, int64(MaxTimeout)
	significantFigures = 3
)

func newHDR() *hdrhistogram.Histogram {
	return hdrhistogram.New(lowest, highest, significantFigures)
}

// A Histogram is how many times fell into each bucket of an HdrHistogram of 1 ns to an
// hour. A time counts as the longest of its bucket: figures are too long by up to 0.1%,
// and never too short.
type Histogram struct {
	SignificantFigures int     `json:"significant_figures"`
	Nanoseconds        []int64 `json:"nanoseconds"` // the longest time of each bucket that has any, ascending
	Counts             []int64 `json:"counts"`      // of each
}

func newHistogram(h *hdrhistogram.Histogram) Histogram {
	out := Histogram{significantFigures, []int64{}, []int64{}}
	for _, b := range h.Distribution() {
		if b.Count > 0 {
			out.Nanoseconds = append(out.Nanoseconds, b.To)
			out.Counts = append(out.Counts, b.Count)
		}
	}
	return out
}

// Count returns how many times there are.
func (h *Histogram) Count() (n int64) {
	for _, c := range h.Counts {
		n += c
	}
	return n
}

// check says what is wrong with a histogram that was read.
func (h *Histogram) check() error {
	all := newHDR()
	switch {
	case h.SignificantFigures != significantFigures:
		return fmt.Errorf("%d significant figures: want %d", h.SignificantFigures, significantFigures)
	case len(h.Nanoseconds) != len(h.Counts):
		return fmt.Errorf("%d buckets with %d counts", len(h.Nanoseconds), len(h.Counts))
	}
	for i, v := range h.Nanoseconds {
		switch {
		case i > 0 && v <= h.Nanoseconds[i-1]:
			return errors.New("the buckets are not in order")
		case v < 0 || h.Counts[i] < 1 || all.RecordValues(v, h.Counts[i]) != nil:
			return fmt.Errorf("bucket %d with count %d", v, h.Counts[i])
		}
	}
	if again := newHistogram(all); !slices.Equal(again.Nanoseconds, h.Nanoseconds) {
		return errors.New("buckets that no such histogram has")
	}
	return nil
}

// quantile returns the time in seconds that the share q of all requests met, failed of
// which did not succeed, and rank above all times; nil if it falls among those, or there
// are none.
func (h *Histogram) quantile(q float64, failed int64) *float64 {
	var below int64
	rank := rankOf(q, h.Count()+failed)
	for i, c := range h.Counts {
		if below += c; below >= rank && rank > 0 {
			return seconds(h.Nanoseconds[i])
		}
	}
	return nil
}

// rankOf returns the rank, from 1, of the quantile q among n.
func rankOf(q float64, n int64) int64 {
	// A product such as 0.07*100 is a little more than the whole number that it is.
	return min(n, int64(math.Ceil(q*float64(n)*(1-1e-12))))
}

func seconds(ns int64) *float64 { return new(float64(ns) / 1e9) }

// longest returns the longest time in seconds; nil if there are none.
func (h *Histogram) longest() *float64 {
	if len(h.Nanoseconds) == 0 {
		return nil
	}
	return seconds(h.Nanoseconds[len(h.Nanoseconds)-1])
}
