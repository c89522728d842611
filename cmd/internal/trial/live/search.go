package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/stat"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/metric"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/base/unit"
)

var noChange livegc.Change

const (
	// noGain is the part of CPU time below which the GC is not worth a search: no setting can
	// save more.
	noGain = 0.01
	// least and most windows of the time before any change: an interval takes 6, and with the
	// default block the last has ended after four minutes, in which the runtime starts a cycle
	// even if nothing is allocated.
	leastWindows = 6
	mostWindows  = 48
	// fewCycles is how many GC cycles show that the GC matters.
	fewCycles = 3
	// idle is the part of one CPU below which a process is under no load.
	idle = 0.005
)

// Search looks for settings that are better than those in effect. They are restored when it
// returns. o has its budget, seed and metric.
func (p *Process) Search(ctx context.Context, o tune.Options) (_ *tune.Result, err error) {
	begin := time.Now()
	defer func() {
		err = errors.Join(err, p.restore())
		now, _, lost := p.gc.Kept()
		p.Record.Restored = lost == nil && now == p.gc.Undo.Before
	}()
	if o.Metric == nil {
		o.Metric = &metric.Spec{Name: metric.CPUPerGiB}
		if p.requests != nil {
			o.Metric.Name = metric.CPUPerRequest
		}
	}
	before, err := p.watch(ctx)
	if err != nil {
		return nil, err
	}
	if text := p.Record.Before.hopeless(); text != "" {
		r := tune.Without(before, o.Metric, text, time.Since(begin))
		r.Seed, r.PID = o.Seed, p.gc.PID
		return r, nil
	}
	only, err := p.candidates(o.Budget)
	if err != nil {
		return nil, err
	}
	if len(only) == 0 {
		return nil, attached(p.gc.PID, fmt.Errorf("no setting can be tried: %s; nothing was changed", p.Record.NotTried[0].Reason))
	}
	if err := p.hold(); err != nil {
		return nil, attached(p.gc.PID, err)
	}
	o.Budget = max(o.Budget-time.Since(begin), time.Second)
	return tune.Search(ctx, p, of(o, &p.Record, only))
}

// of completes the options of a search: the settings to try are known, and those in effect are
// the default.
func of(o tune.Options, r *Record, only []trial.Setting) tune.Options {
	o.Env, o.Only, o.PID = trial.Setting{GOGC: r.GOGC}, only, r.PID
	if r.MemLimit != nil {
		o.Env.MemLimit = *r.MemLimit
	}
	// Guardrails bound memory, and a process keeps its pages.
	o.FixedTHP, o.ReadGC, o.SafeMemory = true, true, math.MaxInt64
	return o
}

// watch reads the process for a while before any change.
func (p *Process) watch(ctx context.Context) (*tune.Arm, error) {
	arm := &tune.Arm{Arm: trial.NewArm(trial.Setting{})}
	arm.Name = "default"
	s := &p.Record.Before
	var shares []float64
	gcTotal := 0.0
	for len(shares) < leastWindows || len(shares) < mostWindows && !s.known() {
		sample, b, err := p.window(ctx, p.opts.Block/2)
		if err != nil {
			return nil, err
		}
		sample.Round, sample.Sequence = len(shares)+1, len(shares)+1
		arm.Samples = append(arm.Samples, sample)
		s.Windows, s.Seconds, s.Cycles = s.Windows+1, s.Seconds+sample.Wall, s.Cycles+*b.GCCycles
		s.CPU, s.Allocated = s.CPU+sample.CPU, s.Allocated+*b.Allocated
		gcTotal += *b.GCCPU
		shares = append(shares, min(*b.GCCPU/max(sample.CPU, 1e-9), 1))
		sum := stat.Summarize(shares)
		s.GC, s.Lo, s.Hi = min(gcTotal/max(s.CPU, 1e-9), 1), sum.Lo, sum.Hi
		if len(shares) < leastWindows || s.CPU >= idle*s.Seconds && s.Allocated > 0 {
			continue
		}
		return nil, attached(p.gc.PID, fmt.Errorf("it used %s of one CPU and allocated %s in %s: put it under its load first; nothing was changed",
			unit.Percent(s.CPU/s.Seconds), unit.Size(s.Allocated), unit.Span(time.Duration(s.Seconds*float64(time.Second)).Round(time.Second))))
	}
	return arm, nil
}

// window measures the process as it is for a time.
func (p *Process) window(ctx context.Context, d time.Duration) (*trial.Sample, *Block, error) {
	var st strain
	start, err := p.look(ctx, true)
	if err != nil {
		return nil, nil, attached(p.gc.PID, err)
	}
	if start, err = p.atEdge(ctx, start); err != nil {
		return nil, nil, attached(p.gc.PID, err)
	}
	p.count.Restart()
	b := &Block{Peak: new(start.inUse())}
	tick := time.NewTicker(min(lookEvery, max(d/10, time.Millisecond)))
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-tick.C:
		}
		r, err := p.look(ctx, false)
		if err != nil {
			return nil, nil, attached(p.gc.PID, err)
		}
		*b.Peak = max(*b.Peak, r.inUse())
		if p.stallOf(&st, r.at); st.stalled > p.stalled {
			p.stalled = st.stalled
		}
		if r.at.Sub(start.at) < d {
			continue
		}
		end, err := p.atEdge(ctx, r)
		if err != nil {
			return nil, nil, attached(p.gc.PID, err)
		}
		return p.sample(b, start, end), b, nil
	}
}

// most is the part of CPU time that the GC took at most: with the cycle that was about to come.
func (s *Share) most() float64 {
	return max(s.Hi, s.GC*float64(s.Cycles+1)/float64(max(s.Cycles, 1)))
}

// known reports whether the windows tell if anything can be gained.
func (s *Share) known() bool {
	return s.Cycles > 0 && s.most() < noGain || s.Cycles >= fewCycles && s.GC >= noGain
}

// hopeless says that nothing can be gained; "" if something may be.
func (s *Share) hopeless() string {
	if s.most() >= noGain {
		return ""
	}
	in := fmt.Sprintf("%s of %s", unit.Plural(s.Windows, "window"), unit.Seconds(s.Seconds/float64(max(s.Windows, 1))))
	if s.Cycles == 0 {
		return "no GC cycle ended in " + in
	}
	return fmt.Sprintf("the GC takes at most %s of CPU time (%s to %s in %s), and no setting can save more", unit.Percent(s.most()), unit.Percent(s.Lo), unit.Percent(s.Hi), in)
}

// candidates are the settings to try, and Record.NotTried those that are not, with the reason.
func (p *Process) candidates(budget time.Duration) ([]trial.Setting, error) {
	heap, err := p.gc.Heap()
	if err != nil {
		return nil, attached(p.gc.PID, err)
	}
	status, err := p.fs.Status(p.gc.PID)
	if err != nil {
		return nil, attached(p.gc.PID, err)
	}
	bound, why := p.memoryBound()
	p.Record.Guardrails = Rails{Memory: why}
	if bound > 0 {
		p.Record.Guardrails.MemoryBytes = &bound
	}
	if d := p.opts.MaxP99; d > 0 {
		p.Record.Guardrails.P99 = new(d.Seconds())
	}
	if m := p.opts.MaxErrors; m != nil {
		p.Record.Guardrails.Errors = m.Text
	}
	room := bound
	if m, err := p.fs.Meminfo(); err == nil && m.MemAvailable != nil && m.MemTotal != nil {
		free := float64(*m.MemAvailable) - (1-mostMemory)*float64(*m.MemTotal)
		if most := rssOf(status) + uint64(max(free, 0)); room == 0 || most < room {
			room = most
			if bound == 0 || most < bound {
				why = fmt.Sprintf("%.0f%% of the machine", 100*mostMemory)
			}
		}
	}
	peak := uint64(0)
	for _, rss := range p.Record.Timeline.RSS {
		peak = max(peak, rss)
	}
	percent, err := livegc.ParseGOGC(p.Record.GOGC)
	if err != nil {
		return nil, err
	}
	sp := space{percent: int(*percent), peak: peak, room: room, why: why, block: p.opts.Block, budget: budget}
	if heap.Marked != nil {
		sp.live = *heap.Marked
	}
	if c := p.Record.Before; c.Cycles > 0 {
		sp.cycle = time.Duration(c.Seconds / float64(c.Cycles) * float64(time.Second))
	}
	if l := p.Record.MemLimit; l != nil {
		sp.limit = *l
	}
	sp.fit = p.fit(heap, status)
	only, not := sp.settings()
	p.Record.NotTried = append(p.Record.NotTried, not...)
	return only, nil
}
