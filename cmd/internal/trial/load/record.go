package load

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Kinds of failures, as the JSON names them.
const (
	kindNotSent    = "not_sent"
	kindTimeout    = "timeout"
	kindConnection = "connection"
	kindStatus     = "status"
	kindGRPC       = "grpc_status"
	kindUnanswered = "unanswered"
)

// An outcome is what became of a request that was started.
type outcome struct {
	lateness, latency time.Duration
	kind              string // of failure; "" if it succeeded
	status            int    // 0 without an answer
	proto             string
	code              string // of gRPC
	err               error
}

// A recorder counts outcomes. Its methods may be called concurrently.
type recorder struct {
	mu                sync.Mutex
	latency, lateness *hdrhistogram.Histogram
	fromStart         *hdrhistogram.Histogram // latencies from the actual starts
	counts            Counts
	lateStarts        int64
	status, protocols map[string]int64
	codes             map[string]int64 // nil but for gRPC
	errors            map[string]string
	ended             time.Duration // the last request, from the start of what is measured
	keeper            *keeper
}

func newRecorder() *recorder {
	return &recorder{latency: newHDR(), lateness: newHDR(), fromStart: newHDR(), status: make(map[string]int64), protocols: make(map[string]int64),
		errors: make(map[string]string), keeper: newKeeper()}
}

// unsent counts a request that was not started. Times are from the start of what is measured.
func (r *recorder) unsent(kind string, intended time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Intended++
	r.fail(kind)
	r.keeper.add(intended, -1, true)
}

// fail counts a failure.
func (r *recorder) fail(kind string) {
	switch f := &r.counts.Failures; kind {
	case kindNotSent:
		f.NotSent++
	case kindTimeout:
		f.Timeout++
	case kindConnection:
		f.Connection++
	case kindStatus:
		f.Status++
	case kindGRPC:
		f.GRPC++
	case kindUnanswered:
		f.Unanswered++
	}
}

// add counts a request that was to start at the time intended, and ended.
func (r *recorder) add(o outcome, intended, ended time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = max(r.ended, ended)
	took := time.Duration(-1)
	if o.kind == "" || o.kind == kindTimeout {
		took = max(o.latency, 0)
	}
	r.keeper.add(intended, took, o.kind != "")
	r.counts.Intended++
	record(r.lateness, o.lateness)
	if o.lateness > LateStart {
		r.lateStarts++
	}
	if o.status > 0 {
		r.status[string(rune('0'+o.status/100))+"xx"]++
		r.protocols[o.proto]++
	}
	if o.code != "" {
		if r.codes == nil {
			r.codes = make(map[string]int64)
		}
		r.codes[o.code]++
	}
	if o.kind == "" {
		r.counts.Succeeded++
		record(r.latency, o.latency)
		record(r.fromStart, o.latency-o.lateness)
		return
	}
	r.fail(o.kind)
	if _, ok := r.errors[o.kind]; !ok && o.err != nil {
		r.errors[o.kind] = o.err.Error()
	}
}

// record adds a time; one of more than an hour, which only lateness can be, as an hour.
func record(h *hdrhistogram.Histogram, d time.Duration) {
	_ = h.RecordValue(min(max(int64(d), 0), highest)) // cannot fail within the range
}

// result is what was recorded from the time start on.
func (r *recorder) result(s Settings, complete bool, start time.Time) *Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.counts.Failed = r.counts.Failures.total()
	out := &Result{Settings: s, Complete: complete, Elapsed: r.ended.Seconds(), Counts: r.counts,
		Status: r.status, Protocols: r.protocols, Codes: r.codes, Errors: []ErrorText{}}
	for _, kind := range slices.Sorted(maps.Keys(r.errors)) {
		out.Errors = append(out.Errors, ErrorText{kind, r.errors[kind]})
	}
	out.Latency = newLatency(newHistogram(r.latency), r.counts.Failed)
	fromStart := newHistogram(r.fromStart)
	out.Lateness = newLateness(newHistogram(r.lateness), r.lateStarts, out.Latency.P99, fromStart.quantile(0.99, r.counts.Failed))
	out.Late = out.Lateness.late(out.Latency.P99)
	out.OverTime, out.Kept = r.keeper.result(start)
	return out
}
