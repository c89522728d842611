package trial

import (
	"runtime"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial/delay"
	"github.com/foliomem/folio/internal/system/cgroup"
)

// An observer asks the kernel every 10 ms what it did to a server under load: for how long the
// quota kept it from running, how long its tasks waited for memory, how many page faults it
// took. The generator, which is in the same process, wakes more often than that; looks take
// at most one part in a hundred of a CPU.
type observer struct {
	r     *running
	begun time.Time
	alarm *alarm
	done  chan struct{}
	ended time.Time

	looks int
	cost  time.Duration

	last        cgroup.Usage
	grew        time.Time // when the memory stall last did
	faultsSoFar map[int]uint64

	// Spans are on the clock of the program. Those that are not known are nil.
	throttled, stalled []delay.Span
	faults             bins // from begun on
	throttling         bins // from the start of the program on
	cut                bool
}

const (
	lookForDelays = 2 * beat
	// mostWaits is how many spans are kept: an hour of a server that is throttled in every
	// period of its quota.
	mostWaits = 40_000
	// stallShare is the part of the time for which some task waited for memory in what is
	// called a memory stall.
	stallShare = 0.1
)

// delays says whether to work out what delays requests.
func (r *running) delays() bool {
	return r.req.Delays && r.p.Server != nil && r.p.Server.Generator != nil
}

// observe begins to observe the server.
func (r *running) observe() {
	if !r.delays() {
		return
	}
	alarm, err := newAlarm()
	if err != nil {
		return // what delays requests is then not known
	}
	w := &observer{r: r, begun: time.Now(), alarm: alarm, done: make(chan struct{}), faultsSoFar: make(map[int]uint64),
		faults: bins{width: lookForDelays, most: 10 * mostBins}}
	w.grew = w.begun
	if r.group != nil {
		if u, err := r.group.Waits(); err == nil {
			w.last = u
			if u.ThrottledFor != nil {
				w.throttled = []delay.Span{}
				w.throttling.add(w.begun.Sub(r.started), 0)
			}
			if u.Stalled != nil {
				w.stalled = []delay.Span{}
			}
		}
	}
	w.newFaults()
	r.observer = w
	background(w.run)
}

func (o *observer) run() {
	defer close(o.done)
	for wait := lookForDelays; ; {
		o.alarm.wait(untilTick(wait))
		start := time.Now()
		o.look(start)
		o.looks++
		cost := time.Since(start)
		o.cost += cost
		if o.alarm.rung.Load() {
			o.ended = start
			return
		}
		wait = max(lookForDelays, share*cost)
	}
}

// look takes in what the kernel counted since the last one.
func (o *observer) look(now time.Time) {
	at := now.Sub(o.r.started)
	o.faults.add(now.Sub(o.begun)-1, o.newFaults()) // they were before now
	if o.throttled == nil && o.stalled == nil {
		return
	}
	u, err := o.r.group.Waits()
	if err != nil {
		return
	}
	if d := grown(u.ThrottledFor, o.last.ThrottledFor); d > 0 && o.throttled != nil {
		// It is of all CPUs together: if all were kept from running, it took this long.
		o.keep(&o.throttled, spanOf(at-d/time.Duration(runtime.NumCPU()), at))
		o.throttling.add(at, d.Seconds())
	}
	if d := grown(u.Stalled, o.last.Stalled); d > 0 && o.stalled != nil {
		if since := now.Sub(o.grew); float64(d) >= stallShare*float64(since) {
			o.keep(&o.stalled, spanOf(at-since, at))
		}
		o.grew = now
	}
	o.last = u
}

func (o *observer) keep(to *[]delay.Span, s delay.Span) {
	if len(*to) == mostWaits {
		o.cut = true
		return
	}
	*to = append(*to, s)
}

func grown(now, before *time.Duration) time.Duration {
	if now == nil || before == nil {
		return 0
	}
	return *now - *before
}

// newFaults returns how many page faults the processes took since it was last called; those
// of a process that is new are of its start, and do not count.
func (o *observer) newFaults() float64 {
	n := uint64(0)
	for _, pid := range o.r.sampler.tree.PIDs() {
		st, err := o.r.p.FS.Stat(pid)
		if err != nil {
			continue
		}
		all := st.MinFlt + st.MajFlt
		if before, ok := o.faultsSoFar[pid]; ok && all > before {
			n += all - before
		}
		o.faultsSoFar[pid] = all
	}
	return float64(n)
}

// end stops it. A nil one does nothing.
func (o *observer) end() {
	if o != nil {
		o.alarm.ring()
		<-o.done
		o.alarm.close()
	}
}

// fillDelays works out what the slow requests overlap. The GC cycles must have been placed.
func (r *running) fillDelays(out *Sample) {
	w := r.observer
	kept := r.kept
	if w == nil || out.Load == nil || kept == nil {
		return
	}
	start := kept.Start.Sub(r.started)
	in := delay.Run{Span: spanOf(start, w.ended.Sub(r.started)), Slow: requestSpans(kept.Slow, start), Some: requestSpans(kept.Some, start),
		Causes: make(map[delay.Cause][]delay.Span)}
	if out.GCCounted == GCComplete {
		if spans, ok := r.series.gcSpans(start); ok {
			in.Causes = spans
		}
	}
	if !w.cut {
		if w.throttled != nil {
			in.Causes[delay.Throttled] = w.throttled
		}
		if w.stalled != nil {
			in.Causes[delay.MemoryStall] = w.stalled
		}
	}
	in.Causes[delay.Faults] = w.faults.many(w.begun.Sub(r.started), w.ended.Sub(r.started))
	for c, spans := range in.Causes {
		in.Causes[c] = inTime(spans, in.From, in.To)
	}
	if counts := delay.Of(in); counts != nil {
		out.Delays = &Delays{Counts: *counts, Looks: w.looks, Cost: w.cost.Seconds()}
	}
	if out.Series != nil {
		out.Series.Throttled = w.throttling.rates(0)
	}
}
