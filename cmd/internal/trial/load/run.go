package load

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// An OptionsError says that options cannot be, and nothing was done.
type OptionsError struct{ Err error }

func (e *OptionsError) Error() string { return e.Err.Error() }
func (e *OptionsError) Unwrap() error { return e.Err }

// Run puts the load on the servers, and returns what it found once every request has been
// answered or has failed. It connects to each host first, and returns an error if that
// fails. When ctx ends, so do the load and the requests in flight, and the result is of
// what was intended until then.
//
// An arrival costs the time of a goroutine's start; on one CPU, where the requests
// themselves take most of the time, some ten thousand a second are sent on time.
func Run(ctx context.Context, o Options) (*Result, error) {
	urls, err := o.complete()
	if err != nil {
		return nil, &OptionsError{err}
	}
	wait := o.wait
	if wait == nil {
		t, err := newTimer(ctx)
		if err != nil {
			return nil, err
		}
		defer t.close()
		wait = t.wait
	}
	c, err := newClient(ctx, &o, urls)
	if err != nil {
		return nil, err
	}
	defer c.close()
	r := newRecorder()
	measured, complete := arrive(ctx, &o, c, r, wait)
	return r.result(o.settings(urls), complete, measured), nil
}

// arrive starts each request at its time, and returns when all have ended: when what is
// measured began, and whether no request was left out.
func arrive(ctx context.Context, o *Options, c *client, r *recorder, wait func(time.Time) bool) (measured time.Time, complete bool) {
	var underWay atomic.Int64
	var all sync.WaitGroup
	start := time.Now()
	measured = start.Add(o.Warmup)
	complete = true
	index := uint64(0)
	begun := o.Measuring == nil
	for a := range o.arrivals() {
		intended := start.Add(a.at)
		if a.measured && !begun && complete && wait(measured) {
			begun = true
			all.Go(o.Measuring)
		}
		if !complete || !wait(intended) {
			// What was due at the interruption was intended, and not answered.
			if complete = false; time.Since(intended) < 0 {
				break
			}
			if a.measured {
				r.unsent(kindUnanswered, intended.Sub(measured))
			}
			continue
		}
		i := index
		index++
		if underWay.Add(1) > int64(o.MaxInFlight) {
			underWay.Add(-1)
			if a.measured {
				r.unsent(kindNotSent, intended.Sub(measured))
			}
			continue
		}
		all.Go(func() {
			defer underWay.Add(-1)
			out := c.do(ctx, i, intended)
			if o.Each != nil {
				o.Each(out.lateness, out.latency, out.kind != "")
			}
			if a.measured {
				r.add(out, intended.Sub(measured), time.Since(measured))
			}
		})
	}
	all.Wait()
	return measured, complete && ctx.Err() == nil
}
