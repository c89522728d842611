package trial

import (
	"context"
	"errors"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/load"
)

// generate puts folio's own load on the server. Figures are of the time from the end of
// the load's warm-up until its last request ended.
func (r *running) generate(ctx context.Context, out *Sample) error {
	loading, stop := context.WithCancel(ctx)
	defer stop()
	r.endWait = stop
	o, run := *r.p.Server.Generator, r.p.Server.run
	if run == nil {
		run = load.Run
	}
	measuring, done := make(chan struct{}), make(chan struct{})
	o.Measuring = func() { close(measuring) }
	var res *load.Result
	var failed error
	var ended time.Time
	background(func() {
		defer close(done)
		defer load.HoldGC(&o)()
		res, failed = run(loading, o)
		ended = time.Now()
	})
	limit := r.req.Timeout
	if limit > 0 {
		limit += o.Warmup // the bound is on what is measured
	}
	err := r.await(ctx, out, r.first(measuring, done), limit)
	if err == nil && out.Failure == "" && isClosed(measuring) {
		w, spared := r.openWindow(), r.sampler.spare()
		r.observe()
		err = r.await(ctx, out, r.first(done, nil), r.req.Timeout)
		stop()
		<-done
		w.close(r, out, ended)
		r.observer.end()
		spared()
	}
	stop()
	<-done
	if err != nil || out.Failure != "" {
		return err
	}
	if res != nil && res.Intended > 0 {
		out.Load = res
		r.placeLoad(res)
	}
	if failed != nil || res.Failures.Connection > 0 {
		// It may have failed because the server just ended, and be seen first.
		select {
		case <-r.exited:
		case <-time.After(50 * time.Millisecond):
		}
	}
	var wrong *load.OptionsError
	switch {
	case errors.As(failed, &wrong):
		return failed
	case isClosed(r.exited) || out.Interrupted:
		return r.gone(ctx, out, "under load", "under load")
	case failed != nil:
		out.Failure = r.loadFailure(failed)
	}
	return nil
}

// loadFailure is why there was no load, in words: with the flags of the commands that start
// the server themselves. Since it has answered, a port that is refused is a wrong one.
func (r *running) loadFailure(err error) string {
	var e *load.ConnectError
	if !errors.As(err, &e) {
		return err.Error()
	}
	text, advice := e.Err.Error(), e.Advice.Text(loadPrefix)
	if e.Advice == load.CorrectPort {
		advice = "the server answers at " + r.p.Server.Ready.String() + ": correct --target"
	}
	if advice != "" {
		text += "; " + advice
	}
	return text
}

// placeLoad sets the load over time on the clock of the program, where that is kept.
func (r *running) placeLoad(res *load.Result) {
	r.kept = res.Kept
	res.Kept = nil // it is large, and samples stay
	if !r.req.KeepSeries {
		res.OverTime = nil
	} else if res.OverTime != nil && r.kept != nil {
		res.OverTime.Start = new(r.kept.Start.Sub(r.started).Seconds())
	}
}

// first returns a channel that is closed when a or b is, either of which may be nil, or
// the server has ended.
func (r *running) first(a, b <-chan struct{}) <-chan struct{} {
	any := make(chan struct{})
	background(func() {
		defer close(any)
		select {
		case <-a:
		case <-b:
		case <-r.exited:
		}
	})
	return any
}
