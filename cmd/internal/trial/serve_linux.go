package trial

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/system/cgroup"
	"github.com/foliomem/folio/internal/system/procmem"
)

// usage is what the living processes of a tree used so far.
type usage struct {
	user, sys    time.Duration // in steps of 10 ms
	cpu          time.Duration // both, as fine as the kernel has it
	minor, major uint64
}

// since returns the seconds of user and system time since before. Their sum is exact; how it
// splits is told by steps of 10 ms, of the whole life where there were none since.
func (u usage) since(before usage) (user, sys float64) {
	all := max(u.cpu-before.cpu, 0).Seconds()
	inUser, inKernel := max(u.user-before.user, 0), max(u.sys-before.sys, 0)
	if inUser+inKernel == 0 {
		inUser, inKernel = u.user, u.sys
	}
	if inUser+inKernel == 0 {
		return all, 0
	}
	perSecond := all / (inUser + inKernel).Seconds()
	return perSecond * inUser.Seconds(), perSecond * inKernel.Seconds()
}

// CPUTime returns the CPU time of a process, its ended threads included: by its clock, in
// nanoseconds, else by its steps of 10 ms.
func CPUTime(st procmem.Stat) time.Duration {
	const ofProcess = 2 // CPUCLOCK_SCHED, of all threads
	var t unix.Timespec
	if err := unix.ClockGettime(^int32(st.PID)<<3|ofProcess, &t); err != nil {
		return st.UTime + st.STime
	}
	return time.Duration(t.Nano())
}

// used adds up the members and the children that they waited for.
func (r *running) used() (u usage) {
	for _, pid := range r.family.members() {
		st, err := r.p.FS.Stat(pid)
		if err != nil {
			continue
		}
		u.cpu += CPUTime(st) + st.CUTime + st.CSTime
		u.user += st.UTime + st.CUTime
		u.sys += st.STime + st.CSTime
		u.minor += st.MinFlt + st.CMinFlt
		u.major += st.MajFlt + st.CMajFlt
	}
	return u
}

// A window is the time under load that figures are of: all but the peaks of memory.
type window struct {
	before usage
	idle   cgroup.Usage
	begin  time.Time
}

func (r *running) openWindow() *window {
	if r.runtimes != nil {
		r.liveBefore = r.runtimes.restart().LivePeak
	}
	w := &window{before: r.used(), idle: r.groupUsage(), begin: time.Now()}
	if r.profile != nil {
		r.profile.since.Store(clock())
	}
	return w
}

// close ends the window and puts its figures into out. The load ended at a time: if before the
// window, as where the server died at the first request, it was not under load.
func (w *window) close(r *running, out *Sample, ended time.Time) {
	if !ended.After(w.begin) {
		return
	}
	after := r.used()
	out.NoLoad = false
	out.Wall = ended.Sub(w.begin).Seconds()
	out.User, out.Sys = after.since(w.before)
	out.CPU = out.User + out.Sys
	out.MinorFaults, out.MajorFaults = int64(after.minor-w.before.minor), int64(after.major-w.before.major)
	r.underLoad = r.groupUsage().Since(w.idle)
	if r.profile != nil {
		r.profile.until.Store(clock())
	}
}

// serve waits until the server answers, puts it under load, and stops it.
func (r *running) serve(ctx context.Context) (*Sample, error) {
	out := &Sample{NoLoad: true} // until a window ends
	srv := r.p.Server
	err := r.awaitReady(ctx, out)
	collectors := r.files.collectors[:]
	loaded := err == nil && out.Failure == ""
	switch {
	case !loaded:
	case srv.Generator != nil:
		err = r.generate(ctx, out)
	default:
		collectors, err = r.runLoad(ctx, out)
	}
	if r.runtimes != nil {
		r.gc = r.runtimes.totals()
	}
	// A server that we stop may die of it in any way: that is not a failure.
	r.stopped = !isClosed(r.exited)
	last := r.files.tail() // what it says when it is stopped explains no failure
	r.stopServer(srv.stopTimeout())
	ru, ws := r.collect(out)
	if err != nil {
		return nil, err
	}
	r.fill(out, &ru, ws)
	if r.stopped {
		out.Tail = last
	}
	r.fillProfile(out)
	r.fillGC(out)
	if out.NoLoad {
		out.forgetLoad()
	} else {
		out.Growing = out.fewCycles()
		if before := r.liveBefore; before > 0 && (out.LivePeak == nil || *out.LivePeak < before) {
			out.LivePeak = &before
		}
	}
	if loaded {
		out.setLoad(r.p.Metric)
		r.fillDelays(out)
		fillMetrics(out, r.p.Metric, collectors)
	}
	return out, r.streamError()
}

// runLoad runs the load generator of the user. Its output is where metrics are found.
func (r *running) runLoad(ctx context.Context, out *Sample) ([]*metric.Collector, error) {
	w := r.openWindow()
	l, err := r.startLoad()
	if err != nil {
		return nil, err
	}
	err = r.awaitLoad(ctx, out, l)
	ended := l.ended
	if ended.IsZero() {
		ended = time.Now()
	}
	w.close(r, out, ended)
	return l.files.collectors[:], err
}

// awaitReady waits for the server's answer. A server may need most of its memory
// before it answers: all bounds but that on the time hold here, too.
func (r *running) awaitReady(ctx context.Context, out *Sample) error {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	r.endWait = cancel
	var err error
	done := make(chan struct{})
	background(func() {
		err = r.p.Server.Ready.wait(waiting, r.p.Server.readyTimeout(), r.exited)
		close(done)
	})
	ended := r.await(ctx, out, done, 0)
	cancel()
	<-done
	switch {
	case ended != nil || out.Failure != "":
		return ended
	case errors.Is(err, errGone) || out.Interrupted:
		at := " answered at " + r.p.Server.Ready.String()
		return r.gone(ctx, out, "before the server"+at, "before it"+at)
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	default:
		out.Failure = err.Error()
	}
	return nil
}

// gone says why the trial of a server ends early: a signal, which the server may have heard of
// first, or the server's own end, and when. The error says that the trial does not exist.
func (r *running) gone(ctx context.Context, out *Sample, interrupted, ended string) error {
	err := r.hear(ctx, out)
	switch {
	case err != nil:
	case out.Interrupted:
		out.Failure, out.FailureKind = "interrupted "+interrupted, FailedInterrupted
	default:
		out.Failure = "the server ended " + ended
	}
	return err
}

// A loadRun is a running load generator. It gets the environment as it is: the
// setting and the trace are for the server.
type loadRun struct {
	pid   int
	files files
	done  chan struct{}
	ended time.Time
	// server are the processes from before the load, which the end of the load
	// must not end.
	server []int
}

func (r *running) startLoad() (*loadRun, error) {
	l := &loadRun{done: make(chan struct{}), server: r.family.members()}
	null, err := os.Open(os.DevNull)
	if err != nil {
		return nil, err
	}
	l.files.pass = append(l.files.pass, null)
	defer l.files.closePassed()
	for i := range l.files.outputs {
		if err := l.files.stream(i, nil, r.p.Metric); err != nil {
			return nil, err
		}
	}
	l.files.carry()
	if l.pid, err = start([]string{"sh", "-c", r.p.Server.Load}, r.p.environ(), r.p.Dir, l.files.pass); err != nil {
		return nil, fmt.Errorf("--load: %w", err)
	}
	r.family.own = []int{r.pid, l.pid}
	background(func() {
		awaitExit(l.pid)
		l.ended = time.Now()
		close(l.done)
	})
	return l, nil
}

// awaitLoad waits for the generator and judges how it and the server fared.
func (r *running) awaitLoad(ctx context.Context, out *Sample, l *loadRun) error {
	r.endWait = func() { _ = unix.Kill(l.pid, unix.SIGTERM) }
	err := r.await(ctx, out, r.first(l.done, nil), r.req.Timeout)
	serverGone := isClosed(r.exited)
	// Whatever ended the wait, the generator must not outlive it. What it and
	// its orphans used does not count as the server's.
	used, reaped := r.family.used, r.family.reaped
	_ = unix.Kill(l.pid, unix.SIGTERM)
	select {
	case <-l.done:
	case <-time.After(graceLeftover):
		r.family.end(0, l.server...)
		<-l.done
	}
	ws, _, _ := reap(l.pid)
	if !serverGone && (!ws.Exited() || ws.ExitStatus() != 0) {
		// It may have failed because the server just ended, and be seen first.
		select {
		case <-r.exited:
			serverGone = true
		case <-time.After(50 * time.Millisecond):
		}
	}
	r.family.own = []int{r.pid}
	r.family.end(graceLeftover, l.server...) // what the generator left behind
	r.family.reapOrphans(l.server...)
	r.family.used, r.family.reaped = used, reaped
	l.files.closePassed()
	_ = l.files.finish()
	if err != nil || out.Failure != "" {
		return err
	}
	if failed := ws.Signaled() || ws.ExitStatus() != 0; failed && !serverGone { // ctrl-C goes to it as well
		if err := r.hear(ctx, out); err != nil {
			return err
		}
	}
	switch {
	case serverGone || out.Interrupted:
		return r.gone(ctx, out, "under load", "under load")
	case ws.Signaled():
		out.Failure = "the load generator was killed by " + signalName(ws.Signal())
	case ws.ExitStatus() != 0:
		out.Failure = fmt.Sprintf("the load generator failed: exit code %d", ws.ExitStatus())
		s := Sample{Tail: l.files.tail()}
		if line := s.Reason(); line != "" {
			out.Failure += ": " + line
		}
	}
	return nil
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// stopServer asks the server to end, and makes it.
func (r *running) stopServer(limit time.Duration) {
	if !isClosed(r.exited) {
		_ = unix.Kill(r.pid, unix.SIGTERM)
		select {
		case <-r.exited:
			return
		case <-time.After(limit):
			r.family.end(0)
			<-r.exited
		}
	}
}
