package load

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Result is what a load found. Counts and times are of the measured part: the warm-up
// is in none of them.
type Result struct {
	Settings Settings `json:"load"`

	// Complete is false for a load that was interrupted: it has the requests whose time
	// had come until then.
	Complete bool `json:"complete"`
	// Elapsed is from the first intended start to the end of the last request.
	Elapsed float64 `json:"elapsed_seconds"`

	Counts
	Status    map[string]int64 `json:"status"`               // answers by class: "2xx", ...
	Protocols map[string]int64 `json:"protocols"`            // answers by protocol: "HTTP/1.1", ...
	Codes     map[string]int64 `json:"grpc_codes,omitempty"` // answers to calls of gRPC by code: "OK", ...; "none" without one
	Errors    []ErrorText      `json:"errors"`               // one of each kind of failure that has a text

	// Latency is from the intended start to the last byte of the answer.
	Latency Latency `json:"latency"`
	// Lateness is how much after their intended start the generator started requests.
	Lateness Lateness `json:"lateness"`
	// Late says that the generator was too late for the latencies to be the server's:
	// they must not be counted. See [Lateness].
	Late bool `json:"late"`

	// OverTime is the load over time; nil where that was not kept.
	OverTime *OverTime `json:"over_time,omitempty"`
	// Kept are requests one by one, while the program that measured them runs.
	Kept *Kept `json:"-"`
}

// Counts say what became of the requests that were intended. Each is in one of
// Succeeded and Failures.
type Counts struct {
	Intended  int64    `json:"intended"`
	Succeeded int64    `json:"succeeded"` // status 2xx or 3xx, within the timeout
	Failed    int64    `json:"failed"`
	Failures  Failures `json:"failures"`
}

// Failures are failed requests by kind.
type Failures struct {
	NotSent    int64 `json:"not_sent"`    // as many as allowed were in flight
	Timeout    int64 `json:"timeout"`     // not answered in time
	Connection int64 `json:"connection"`  // not established, broken, or not HTTP
	Status     int64 `json:"status"`      // answered with 1xx, 4xx or 5xx
	GRPC       int64 `json:"grpc_status"` // answered with another status of gRPC than OK, or none
	Unanswered int64 `json:"unanswered"`  // in flight, or due, when the load was interrupted
}

// total returns how many failed.
func (f Failures) total() int64 {
	return f.NotSent + f.Timeout + f.Connection + f.Status + f.GRPC + f.Unanswered
}

// Wrong returns how many failed by an answer, or the want of a connection: no late start of a
// request explains those.
func (f Failures) Wrong() int64 { return f.Connection + f.Status + f.GRPC }

// An ErrorText is the first error of a kind.
type ErrorText struct {
	Kind string `json:"kind" redact:"keep"` // as in Failures
	Text string `json:"text" redact:"blank"`
}

// Latency has percentiles of all intended requests. One that falls among failed requests
// is null: so many did not succeed.
type Latency struct {
	P50  *float64 `json:"p50_seconds"`
	P90  *float64 `json:"p90_seconds"`
	P99  *float64 `json:"p99_seconds"`
	P999 *float64 `json:"p999_seconds"`
	Max  *float64 `json:"max_seconds"` // null if any failed
	// SlowestAnswer is the maximum of those that succeeded; null if none did.
	SlowestAnswer *float64 `json:"slowest_answer_seconds"`

	Histogram Histogram `json:"histogram"` // of requests that succeeded
}

func newLatency(h Histogram, failed int64) Latency {
	l := Latency{Histogram: h, SlowestAnswer: h.longest()}
	for _, q := range quantiles {
		*q.of(&l) = h.quantile(q.q, failed)
	}
	return l
}

// quantiles are those of a Latency.
var quantiles = []struct {
	q  float64
	of func(*Latency) **float64
}{
	{0.5, func(l *Latency) **float64 { return &l.P50 }},
	{0.9, func(l *Latency) **float64 { return &l.P90 }},
	{0.99, func(l *Latency) **float64 { return &l.P99 }},
	{0.999, func(l *Latency) **float64 { return &l.P999 }},
	{1, func(l *Latency) **float64 { return &l.Max }},
}

// Lateness is how late the generator itself was, over requests that it started; null if
// there were none.
type Lateness struct {
	P50 *float64 `json:"p50_seconds"`
	P99 *float64 `json:"p99_seconds"`
	Max *float64 `json:"max_seconds"`
	// LateStarts counts those that started more than a millisecond late.
	LateStarts int64 `json:"late_starts"`
	// Bound is how late the 99th percentile may be: 1 ms, or 10% of the 99th percentile
	// of the latency if that is more. A generator that was later was late, unless that made
	// the 99th percentile of the latency longer by 10% at most.
	Bound float64 `json:"bound_seconds"`
	// Added is how much longer the 99th percentile of the latency is from the intended starts
	// than from the actual ones; null where it falls among failed requests.
	Added *float64 `json:"added_to_p99_seconds"`
}

// LateStart is from when on a start counts as late, and the bound of the 99th percentile
// where latencies are short: a latency of a millisecond is not known to better than a
// scheduler's wake-up.
const LateStart = time.Millisecond

// lateShare is the part of the 99th percentile of the latency that may be the generator's.
const lateShare = 0.1

// newLateness has the 99th percentiles of the latency from the intended starts and from the
// actual ones.
func newLateness(h Histogram, lateStarts int64, p99, fromStart *float64) Lateness {
	l := Lateness{P50: h.quantile(0.5, 0), P99: h.quantile(0.99, 0), Max: h.longest(), LateStarts: lateStarts,
		Bound: LateStart.Seconds()}
	if p99 != nil {
		l.Bound = max(l.Bound, lateShare**p99)
	}
	if p99 != nil && fromStart != nil {
		l.Added = new(max(*p99-*fromStart, 0))
	}
	return l
}

// late says that the generator was, where the latency has this 99th percentile.
func (l *Lateness) late(p99 *float64) bool {
	harmless := l.Added != nil && p99 != nil && *l.Added <= lateShare**p99
	return l.P99 != nil && *l.P99 > l.Bound && !harmless
}

// Check says what is wrong with a result that was read, in which figures must agree.
func (r *Result) Check() error {
	if err := r.Latency.Histogram.check(); err != nil {
		return fmt.Errorf("histogram: %w", err)
	}
	switch f := r.Failures; {
	case min(r.Intended, r.Succeeded, r.Failed, f.NotSent, f.Timeout, f.Connection, f.Status, f.GRPC, f.Unanswered) < 0:
		return errors.New("a count is negative")
	case r.Failed != f.total() || r.Intended != r.Succeeded+r.Failed || r.Succeeded != r.Latency.Histogram.Count():
		return errors.New("the counts do not add up")
	}
	if r.OverTime != nil {
		if err := r.OverTime.check(&r.Counts); err != nil {
			return err
		}
	}
	if r.Late != r.Lateness.late(r.Latency.P99) {
		return errors.New("late disagrees with the lateness")
	}
	want := newLatency(r.Latency.Histogram, r.Failed)
	for _, q := range quantiles {
		if a, b := *q.of(&r.Latency), *q.of(&want); (a == nil) != (b == nil) || a != nil && *a != *b {
			return fmt.Errorf("percentile %v is not the histogram's", 100*q.q)
		}
	}
	if slices.Contains(r.Settings.URLs, "") || len(r.Settings.URLs) == 0 {
		return errors.New("no URL")
	}
	return nil
}
