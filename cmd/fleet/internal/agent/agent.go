// Package agent is folio-agent as it runs: one goroutine looks at the node, within a
// budget of CPU time; servers answer from what it found.
package agent

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/exposition"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/sampler"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Options say how to look.
type Options struct {
	Budget  float64 // share of a core
	Version string
	Log     *slog.Logger
	// NoSampling turns the sampling of all processes off.
	NoSampling bool
}

// An Agent looks at a node until its context ends.
type Agent struct {
	Options
	node    *node.Node
	sampler *sampler.Sampler
	budget  *budget

	mu  sync.Mutex
	own exposition.Own
}

const (
	tickEvery   = time.Second
	scanEvery   = 5 * time.Second
	slowScan    = 15 * time.Second // beyond the budget
	cgroupEvery = 30 * time.Second
	window      = 10 * time.Second
	leastPause  = 20 * time.Second
	retryPause  = 5 * time.Minute // where processes cannot be sampled
	looksATick  = 10
)

// New makes an agent of a node.
func New(n *node.Node, o Options) *Agent {
	a := &Agent{Options: o, node: n}
	a.own = exposition.Own{Version: o.Version, Samples: map[string]uint64{}}
	return a
}

// Snapshot is of exposition.Source.
func (a *Agent) Snapshot() *node.Snapshot { return a.node.Snapshot() }

// Own is of exposition.Source.
func (a *Agent) Own() exposition.Own {
	a.mu.Lock()
	own := a.own
	a.mu.Unlock()
	own.CPUSeconds = cpuSeconds()
	if m, err := procmem.New("").Statm(0); err == nil {
		own.ResidentBytes = &m.RSS
	}
	return own
}

// Run looks until ctx ends.
func (a *Agent) Run(ctx context.Context) error {
	defer a.node.Close()
	now := time.Now()
	a.budget = newBudget(a.Budget, cpuSeconds(), now)
	if err := a.node.Scan(); err != nil {
		return err
	}
	a.sampler = sampler.New(a.node, nil)
	defer a.sampler.Close()
	at := &due{scan: now.Add(scanEvery), cgroups: now, window: now}
	if a.NoSampling {
		at.window = now.Add(100 * 365 * 24 * time.Hour)
	}
	ticker := time.NewTicker(tickEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-ticker.C:
			a.budget.tick(cpuSeconds(), now)
			a.step(now, at)
		}
	}
}

// due is when what is to be done next.
type due struct {
	scan, cgroups, window time.Time
	began                 time.Time // of the window
	ended                 time.Time
}

// step does what is due.
func (a *Agent) step(now time.Time, at *due) {
	a.sample(now, at)
	if !now.Before(at.scan) {
		if err := a.node.Scan(); err != nil {
			a.Log.Warn("cannot list processes", "err", err)
		}
		at.scan = now.Add(scanEvery)
		if !a.budget.ok() {
			at.scan = now.Add(slowScan)
		}
	}
	if !now.Before(at.cgroups) {
		a.node.LookAtCgroups()
		at.cgroups = now.Add(cgroupEvery)
	}
	for range looksATick {
		if !a.budget.ok() || !a.node.Look() {
			break
		}
	}
}

// sample begins, drains and ends windows.
func (a *Agent) sample(now time.Time, at *due) {
	if !a.sampler.Open() {
		if now.Before(at.window) || !a.budget.ok() {
			return
		}
		if err := a.sampler.Begin(); err != nil {
			a.Log.Warn("CPU time by class is not known: processes cannot be sampled", "err", err)
			at.window, at.ended = now.Add(retryPause), time.Time{}
			a.mu.Lock()
			a.own.Sampling = 0
			a.mu.Unlock()
			return
		}
		at.began = now
		return
	}
	err := error(nil)
	if now.Sub(at.began) < window {
		err = a.sampler.Drain()
	} else {
		err = a.sampler.End()
		at.window = now.Add(leastPause)
		a.mu.Lock()
		if since := now.Sub(at.ended); !at.ended.IsZero() && since > 0 {
			a.own.Sampling = min(now.Sub(at.began).Seconds()/since.Seconds(), 1)
		}
		a.own.Samples = make(map[string]uint64)
		for outcome, n := range a.sampler.Counts() {
			a.own.Samples[outcome] = n
		}
		a.mu.Unlock()
		at.ended = now
	}
	if err != nil {
		a.Log.Warn("samples are missing", "err", err)
	}
}
