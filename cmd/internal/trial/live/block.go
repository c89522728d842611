package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/internal/base/unit"
	"github.com/foliomem/folio/internal/system/procmem"
)

const (
	// lookEvery is how often the process is read, and looks at its endpoint are as far apart as
	// requestsEvery.
	lookEvery     = 200 * time.Millisecond
	requestsEvery = time.Second
	// settling is how many GC cycles a setting takes to show: the one that runs, or that the new
	// goal starts, and the first that begins by it. Where they are far apart, one that began under
	// the setting is enough.
	settling = 2
	// leastCycles is how many a block has: from the end of one to the end of another.
	leastCycles = 1
	// longestBlock ends a block whose GC cycles do not come.
	longestBlock = 10 * time.Minute
	// recovery is how long memory may take to come back after a setting that took too much.
	recovery = 2 * time.Minute
)

// Run measures a block, as a trial of a search.
func (p *Process) Run(ctx context.Context, set trial.Setting, req trial.Request) (*trial.Sample, error) {
	ours := !set.IsZero()
	b := Block{Setting: cmp.Or(set.String(), "default"), Start: time.Since(p.begin).Seconds()}
	if !ours {
		b.Setting = "default"
	}
	c, err := change(set)
	if err == nil {
		err = p.gc.Switch(c, p.guard)
	}
	if err != nil {
		return nil, attached(p.gc.PID, err)
	}
	s, err := p.block(ctx, &b, ours, req.Timeout)
	b.End = time.Since(p.begin).Seconds()
	if b.Counted == 0 {
		b.Counted = b.End
	}
	if err != nil {
		b.Left = err.Error()
	}
	p.Record.Blocks = append(p.Record.Blocks, b)
	return s, err
}

// block watches the process until the block is over.
func (p *Process) block(ctx context.Context, b *Block, ours bool, timeout time.Duration) (*trial.Sample, error) {
	var st strain
	var start, last reading
	begin, err := p.look(ctx, true)
	if err != nil {
		return nil, attached(p.gc.PID, err)
	}
	cycles, asked, running := begin.gc.Cycles, begin.at, uint32(0)
	if begin.gc.Running {
		running = 1
	}
	if timeout <= 0 || timeout > longestBlock {
		timeout = longestBlock
	}
	peak, rss, settled, lastCycles := uint64(0), uint64(0), false, cycles
	tick := time.NewTicker(min(lookEvery, max(p.opts.Block/10, time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), p.leave())
		case <-tick.C:
		}
		// Where a block may begin or end, requests are read beside the rest.
		requests := time.Since(asked) >= min(requestsEvery, p.opts.Block/2)
		if requests {
			asked = time.Now()
		}
		if last, err = p.look(ctx, requests); err != nil {
			if err = attached(p.gc.PID, err); !errors.Is(err, procmem.ErrNoProcess) {
				err = errors.Join(err, p.leave())
			}
			return nil, err
		}
		if now, kept, err := p.gc.Kept(); err == nil && !kept {
			return nil, attached(p.gc.PID, fmt.Errorf("the program has set GOGC=%d itself: its settings stay, and nothing is recommended", now.Percent))
		}
		rss = max(rss, last.rss)
		if why := p.broken(&st, last, ours); why != "" {
			b.PeakRSS = &rss
			return p.leaveFor(ctx, b, why, ours)
		}
		ended := last.gc.Cycles != lastCycles
		lastCycles = last.gc.Cycles
		switch done := last.gc.Cycles - cycles; {
		case !settled && (done >= settling || done > running && last.at.Sub(begin.at) > p.opts.Block/2):
			if start, err = p.atEdge(ctx, last); err != nil {
				return nil, attached(p.gc.PID, err)
			}
			settled, cycles, peak = true, last.gc.Cycles, last.inUse()
			b.Counted = start.at.Sub(p.begin).Seconds()
			p.count.Restart()
		case settled:
			peak = max(peak, last.inUse())
			if ended && done >= leastCycles && last.at.Sub(start.at) >= p.opts.Block {
				end, err := p.atEdge(ctx, last)
				if err != nil {
					return nil, attached(p.gc.PID, err)
				}
				b.Peak, b.PeakRSS = &peak, &rss
				return p.sample(b, start, end), nil
			}
		}
		if time.Since(begin.at) > timeout {
			if err := p.leave(); err != nil {
				return nil, err
			}
			b.Left = "too few GC cycles within " + unit.Span(timeout.Round(time.Second))
			return &trial.Sample{Wall: time.Since(begin.at).Seconds(), TimedOut: true, Failure: b.Left}, nil
		}
	}
}

// atEdge is a reading at which a block begins or ends, with requests if these are counted.
func (p *Process) atEdge(ctx context.Context, r reading) (reading, error) {
	gc := *r.gc // look goes on with it
	r.gc = &gc
	if p.requests == nil || r.requests != nil {
		return r, nil
	}
	for {
		edge, err := p.look(ctx, true)
		if err != nil || !edge.missed {
			gc := *edge.gc
			edge.gc = &gc
			return edge, err
		}
	}
}

// leave restores the settings from before, at once.
func (p *Process) leave() error {
	return p.gc.Switch(noChange, p.guard)
}

// leaveFor leaves a setting that broke a guardrail, and waits until its memory has come back.
func (p *Process) leaveFor(ctx context.Context, b *Block, why string, ours bool) (*trial.Sample, error) {
	b.Left = why
	if !ours {
		return nil, attached(p.gc.PID, fmt.Errorf("the settings in effect break a guardrail: %s; nothing more was tried", why))
	}
	if err := p.leave(); err != nil {
		return nil, attached(p.gc.PID, err)
	}
	s := &trial.Sample{Wall: time.Since(p.begin).Seconds() - b.Start, PeakRSS: b.PeakRSS, PeakRSSSource: trial.Sampled,
		Failure: why, FailureKind: trial.FailedGuardrail}
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for end := time.Now().Add(recovery); ; {
		r, err := p.look(ctx, false)
		switch {
		case err != nil:
			return nil, attached(p.gc.PID, err)
		case p.overMemory(r) == "":
			return s, nil
		case time.Now().After(end):
			return nil, attached(p.gc.PID, fmt.Errorf("%s, %v after %s was left; nothing more was tried", p.overMemory(r), recovery, b.Setting))
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// sample is what a block showed between two readings.
func (p *Process) sample(b *Block, start, end reading) *trial.Sample {
	f := p.count.Figures()
	wall, cpu, allocated := end.at.Sub(start.at).Seconds(), (end.cpu - start.cpu).Seconds(), end.gc.TotalAlloc-start.gc.TotalAlloc
	user, sys := (end.stat.UTime - start.stat.UTime).Seconds(), (end.stat.STime - start.stat.STime).Seconds()
	s := &trial.Sample{Wall: wall, CPU: cpu, User: cpu, PeakRSS: b.Peak, PeakRSSSource: trial.Sampled, Processes: 1,
		MinorFaults: int64(end.stat.MinFlt - start.stat.MinFlt), MajorFaults: int64(end.stat.MajFlt - start.stat.MajFlt),
		GCCounted: trial.GCComplete, GCCycles: new(int(f.Cycles)), GCPause: new(f.PauseTotal.Seconds()), GCRuntimeCPU: new(f.CPU.Total().Seconds()),
		HeapPeak: new(f.HeapPeak), LivePeak: new(f.LivePeak), Metrics: map[string]float64{}}
	if user+sys > 0 { // in steps of 10 ms
		s.User, s.Sys = cpu*user/(user+sys), cpu*sys/(user+sys)
	}
	if f.LostPauses == 0 {
		s.GCPauseMax = new(f.PauseMax.Seconds())
	}
	if allocated > 0 {
		s.Metrics[metric.CPUPerGiB] = cpu / (float64(allocated) / (1 << 30))
	}
	b.CPU, b.Allocated, b.GCCPU, b.GCCycles = &cpu, &allocated, s.GCRuntimeCPU, new(f.Cycles)
	if start.requests != nil && end.requests != nil {
		r := end.requests.since(*start.requests)
		s.SetRequests(r)
		b.Requests, b.Errors, b.P50, b.P99 = &r.Count, &r.Errors, r.P50, r.P99
	}
	return s
}
