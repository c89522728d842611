package live

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/process/gccount"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/trial"
	"github.com/foliomem/folio/cmd/internal/trial/load"
	"github.com/foliomem/folio/cmd/internal/trial/tune"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Options say how a process is measured, and within which bounds.
type Options struct {
	Block     time.Duration // for which a block counts at least
	MaxRSS    uint64        // 0 for none
	MaxP99    time.Duration // of requests; 0 for none
	MaxErrors *tune.MaxErrors
	Endpoint  *Endpoint     // counters of requests; nil for none
	Load      *load.Options // that folio puts on the process; nil for none
	Guard     []string      // the command that runs guard.Main for a livegc.Undo
}

// A Process is a running Go program whose settings are changed for a while.
type Process struct {
	Record Record

	fs       procmem.FS
	opts     Options
	gc       *livegc.Process
	guard    *guard.Guard[livegc.Undo]
	begin    time.Time
	requests source // nil if requests are not counted
	pressure procmem.PressureSource
	stalled  float64 // the largest part of a second that some task waited for memory, before any change
	count    gccount.Count
	last     goruntime.GC
	held     bool
	ownLimit bool // the program sets its GOMEMLIMIT
}

// Open prepares a process. Nothing of it is changed until Search.
func Open(ctx context.Context, fs procmem.FS, pid int, o Options) (_ *Process, err error) {
	gc, err := livegc.Open(fs, pid)
	if err != nil {
		return nil, attached(pid, err)
	}
	p := &Process{fs: fs, opts: o, gc: gc, begin: time.Now(), pressure: fs.PressureSource(pid)}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	s, err := gc.State()
	if err != nil {
		return nil, attached(pid, err)
	}
	if err := p.tunes(s); err != nil {
		return nil, attached(pid, err)
	}
	if err := errors.Join(gc.Hold(), gc.Plan(livegc.Change{})); err != nil {
		return nil, attached(pid, err)
	}
	p.Record = Record{PID: pid, Name: gc.Name, GOGC: livegc.GOGC(s.Percent), BlockSeconds: o.Block.Seconds(), Blocks: []Block{}, NotTried: []Not{}}
	if s.Limit != math.MaxInt64 {
		p.Record.MemLimit = new(uint64(s.Limit))
	}
	switch {
	case o.Endpoint != nil:
		p.requests, p.Record.Requests = o.Endpoint, o.Endpoint.String()
	case o.Load != nil:
		g := startGenerator(ctx, *o.Load)
		p.requests, p.Record.Requests = g, "folio's load"
	}
	r, err := p.look(ctx, true)
	if err != nil {
		return nil, attached(pid, err)
	}
	if why := p.overMemory(r); why != "" {
		return nil, attached(pid, fmt.Errorf("%s: there is no room to try a setting; nothing was changed", why))
	}
	return p, nil
}

// tunes returns why the settings of a process are not to be changed: it does so itself.
func (p *Process) tunes(s livegc.State) error {
	sets := func(by string) bool { return by != "default" && by != "environment" && by != "folio set" }
	p.ownLimit = sets(s.LimitBy)
	if sets(s.PercentBy) {
		return fmt.Errorf("GOGC=%s is set by %s: take that out first; nothing was changed", livegc.GOGC(s.Percent), s.PercentBy)
	}
	if s.Percent < 0 {
		return errors.New("GOGC is off already: no setting collects less often; nothing was changed")
	}
	return nil
}

// attached names the process that an error is about.
func attached(pid int, err error) error {
	if e, ok := errors.AsType[*livegc.Error](err); ok {
		err = e.Err
	}
	if errors.Is(err, goruntime.ErrGone) || procmem.Gone(err) {
		err = procmem.ErrNoProcess
	}
	if errors.Is(err, executable.ErrNotGo) {
		return fmt.Errorf("--attach %d: %w; folio run --attach %d measures any program", pid, err, pid)
	}
	return fmt.Errorf("--attach %d: %w", pid, err)
}

// Notes are what a reader of the result must know.
func (p *Process) Notes() []string {
	limit := int64(math.MaxInt64)
	if l := p.Record.MemLimit; l != nil {
		limit = int64(*l)
	}
	out := []string{
		fmt.Sprintf("the default is what the process had: GOGC=%s, GOMEMLIMIT=%s", p.Record.GOGC, livegc.GOMEMLIMIT(limit)),
		"peak RSS is without free memory of the Go runtime, which it returns to the OS over minutes: a block would be charged with what the one before left",
	}
	if rivals := p.gc.Rivals(livegc.Change{Percent: new(int32), Limit: new(int64)}); rivals != "" {
		out = append(out, "the program may change its settings itself: it "+rivals)
	}
	if g, ok := p.requests.(*generator); ok {
		g.close()
		if r := g.result; r != nil && r.Late {
			out = append(out, "the load generator was late: latencies are not the server's alone; give it CPUs of its own, or lower the rate")
		}
	}
	return out
}

// Close restores the settings and releases the process.
func (p *Process) Close() error {
	err := p.restore()
	if p.requests != nil {
		p.requests.close()
	}
	return errors.Join(err, p.gc.Close())
}

// hold starts the guard, which restores the settings if this process is killed.
func (p *Process) hold() (err error) {
	if p.guard, err = guard.Start[livegc.Undo](p.opts.Guard); err != nil {
		return err
	}
	p.held = true
	return p.gc.Keep(p.guard)
}

// restore restores the settings from before, and ends the guard.
func (p *Process) restore() error {
	if !p.held {
		return nil
	}
	p.held = false
	err := p.gc.Restore(p.guard)
	_ = p.guard.Close() // if it was killed, all is done without it
	return err
}

// A reading is what is known of the process at a time.
type reading struct {
	at       time.Time
	cpu      time.Duration
	stat     procmem.Stat
	rss      uint64
	gc       *goruntime.GC
	requests *totals // nil where they were not read
	missed   bool    // they could not be
}

// look reads the process, and its requests too where that is asked for.
func (p *Process) look(ctx context.Context, requests bool) (r reading, err error) {
	pid := p.gc.PID
	for tries := 0; ; tries++ {
		// Counters of GC and CPU belong together: nothing comes between the two.
		err = p.gc.ReadGC(&p.last)
		r.at = time.Now()
		if err == nil {
			break
		}
		if !errors.Is(err, goruntime.ErrInconsistent) || tries == 20 {
			return r, err
		}
		time.Sleep(5 * time.Millisecond)
	}
	if r.stat, err = p.fs.Stat(pid); err != nil {
		return r, err
	}
	if r.stat.Zombie() || r.stat.StartTime != p.gc.Undo.Started {
		return r, goruntime.ErrGone
	}
	r.cpu, r.gc = trial.CPUTime(r.stat), &p.last
	m, err := p.fs.Statm(pid)
	if err != nil {
		return r, err
	}
	r.rss = m.RSS
	p.count.Add(r.gc)
	if requests && p.requests != nil {
		t, err := p.requests.read(ctx)
		switch {
		case ctx.Err() != nil:
			return r, ctx.Err()
		case errors.Is(err, errNoAnswer):
			r.missed = true
		case err != nil:
			return r, err
		default:
			r.requests = &t
		}
	}
	p.Record.Timeline.add(r.at.Sub(p.begin), r)
	return r, nil
}

// inUse is the memory of the process without what its runtime holds free: that is returned to the
// OS over minutes, and a block would be charged with what the one before left.
func (r reading) inUse() uint64 { return r.rss - min(r.rss, r.gc.Free) }

// change is what a setting changes; a zero setting is that from before.
func change(s trial.Setting) (c livegc.Change, err error) {
	if s.GOGC != "" {
		if c.Percent, err = livegc.ParseGOGC(s.GOGC); err != nil {
			return c, err
		}
	}
	if s.MemLimit != 0 {
		c.Limit = new(int64(min(s.MemLimit, math.MaxInt64)))
	}
	return c, nil
}
