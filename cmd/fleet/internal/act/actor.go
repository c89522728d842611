package act

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/pod"
	"github.com/foliomem/folio/cmd/internal/process/collapser"
	"github.com/foliomem/folio/cmd/internal/process/inspect"
	"github.com/foliomem/folio/internal/system/procmem"
)

// Why a pass was stopped or not begun.
const (
	Pressure  = "pressure"  // tasks wait for memory
	Available = "available" // the node has too little left
	Headroom  = "headroom"  // the container's limit is too near
	Failed    = "failed"
)

// Reasons are all of them.
var Reasons = []string{Pressure, Available, Headroom, Failed}

// Labeled knows labels, annotations and workloads of pods: a directory of package kube.
type Labeled interface {
	Label(uid, container, label string) (string, bool)
	Annotation(uid, container, name string) string // "" for none
	Workload(uid, container string) (pod.Workload, bool)
	Synced() bool
}

// A Process is one that can be collapsed: a [collapser.Collapser].
type Process interface {
	Plan() (collapser.Plan, error)
	Pass(ctx context.Context) (collapser.Outcome, error)
	Close() error
}

// Work is what was done for a container.
type Work struct {
	Bytes uint64
	Spent time.Duration
}

// An Actor carries a policy out.
type Actor struct {
	Policy  Policy
	Node    *node.Node
	Labels  Labeled
	FS      procmem.FS
	Cgroups *cgroups.Root
	Log     *slog.Logger
	DryRun  bool
	Open    func(pid int, o collapser.Options, dryRun bool) (Process, error)
	Now     func() time.Time
	// Keeper sets settings of the GC; nil: nothing does.
	Keeper *Keeper
	// Sentry watches for GC thrashing; nil: nothing does.
	Sentry *Sentry
	// Reload reads the policy again; nil: it stays. One that is not there any more is
	// os.ErrNotExist: what it gave is taken back.
	Reload func() (Policy, error)

	next   atomic.Pointer[Policy] // of the next pass
	thrash Thrash                 // in effect
	said   string                 // why the policy could not be read

	settle time.Duration // before a pass: pressure is looked at for so long

	mu    sync.Mutex
	work  map[node.Labels]Work
	stops map[string]uint64

	used map[node.Running]uint64 // of the budget of each process
	last procmem.Pressure
	at   time.Time
}

// New makes an actor.
func New(p Policy, n *node.Node, labels Labeled, groups *cgroups.Root, log *slog.Logger) *Actor {
	system := inspect.New()
	return &Actor{
		Policy: p, thrash: p.Thrash, Node: n, Labels: labels, FS: procmem.New(""), Cgroups: groups, Log: log, Now: time.Now, settle: 2 * time.Second,
		Open: func(pid int, o collapser.Options, dryRun bool) (Process, error) {
			return collapser.Open(system, pid, o, dryRun)
		},
		work: make(map[node.Labels]Work), stops: make(map[string]uint64), used: make(map[node.Running]uint64),
	}
}

// How often Run looks at what it set, and after how many looks at all processes.
const (
	lookEvery = 2 * time.Second
	fullEvery = 5
)

// Run acts until ctx ends, and restores the settings then.
func (a *Actor) Run(ctx context.Context) (err error) {
	if err := a.Node.Scan(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var passes sync.WaitGroup
	passes.Go(func() { a.passes(ctx) })
	defer func() {
		stop()
		if a.Sentry != nil {
			a.Sentry.Close()
		}
		if a.Keeper != nil {
			err = errors.Join(err, a.Keeper.Close())
		}
		passes.Wait()
	}()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for n := 0; ; n++ {
		a.reload()
		full := n%fullEvery == 0
		if full && n > 0 {
			if err := a.Node.Scan(); err != nil {
				return err
			}
		}
		if a.Keeper != nil {
			a.Keeper.Look(full)
		}
		if full && a.Sentry != nil {
			a.Sentry.Look(ctx, a.thrash)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// passes puts heaps on huge pages until ctx ends.
func (a *Actor) passes(ctx context.Context) {
	for {
		if p := a.next.Load(); p != nil {
			a.Policy = *p
		}
		if a.Policy.Label != "" {
			a.Pass(ctx)
		}
		t := time.NewTimer(max(a.Policy.Every, lookEvery))
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// reload takes over a policy that was changed. One that is wrong changes nothing.
func (a *Actor) reload() {
	if a.Reload == nil {
		return
	}
	p, err := a.Reload()
	text := ""
	switch {
	case errors.Is(err, os.ErrNotExist):
		p, text = Policy{}, "the policy is gone: nothing is done, and settings are restored"
	case err != nil:
		text = "the policy is wrong: the one before stays in effect"
	}
	if err != nil {
		text += ": " + err.Error()
	}
	if text != a.said && text != "" {
		a.Log.Warn(text)
	}
	if a.said = text; err != nil && !errors.Is(err, os.ErrNotExist) {
		return
	}
	a.next.Store(&p)
	a.thrash = p.Thrash
	if k := a.Keeper; k != nil {
		k.Rules, k.Canary, k.Headroom, k.Spare = p.Rules, p.Canary, p.Headroom, p.Available
	}
}

// Done is what was done, and how often it was stopped, by reason.
func (a *Actor) Done() (work map[node.Labels]Work, stops map[string]uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.work), maps.Clone(a.stops)
}

// Pass looks at each process of the pods that opted in, once.
func (a *Actor) Pass(ctx context.Context) {
	running := a.Node.Running()
	a.forget(running)
	_ = a.short() // pressure is that since now
	select {
	case <-ctx.Done():
		return
	case <-time.After(a.settle):
	}
	for _, r := range running {
		id := r.ID()
		if v, ok := a.Labels.Label(id.UID, id.Container, a.Policy.Label); !ok || v != a.Policy.Value {
			continue
		}
		if reason := a.short(); reason != "" {
			a.stop(reason, "nothing is put on huge pages: memory is short", r)
			return
		}
		a.process(ctx, r)
		if ctx.Err() != nil {
			return
		}
	}
}

// forget drops what is kept of processes and containers that are gone.
func (a *Actor) forget(running []node.Running) {
	here, containers := make(map[node.Running]bool), make(map[node.Labels]bool)
	for _, r := range running {
		here[r], containers[r.Labels] = true, true
	}
	maps.DeleteFunc(a.used, func(k node.Running, _ uint64) bool { return !here[k] })
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.work, func(l node.Labels, _ Work) bool { return !containers[l] })
}

// process puts the heap of one process on huge pages.
func (a *Actor) process(ctx context.Context, r node.Running) {
	if a.used[r] >= a.Policy.Budget {
		return
	}
	o := collapser.Options{MinDensity: a.Policy.MinDensity, Rate: a.Policy.Rate, Budget: a.Policy.Budget - a.used[r]}
	c, err := a.Open(r.PID, o, a.DryRun)
	if err != nil {
		if !errors.Is(err, procmem.ErrNoProcess) {
			a.stop(Failed, "cannot put the heap on huge pages: "+err.Error(), r)
		}
		return
	}
	defer c.Close()
	// What was opened is held by a descriptor; that it is the one that was found is asked
	// after that.
	if !a.Node.Same(r) {
		return
	}
	plan, err := c.Plan()
	if err != nil || len(plan.Todo) == 0 {
		return
	}
	if !a.room(r, plan.Fill) {
		a.stop(Headroom, "the container is too near to its memory limit", r)
		return
	}
	if a.DryRun {
		a.Log.Info("would put on huge pages", "namespace", r.Namespace, "pod", r.Pod, "container", r.Container, "pid", r.PID, "bytes", plan.Bytes, "grows_by", plan.Fill)
		return
	}
	pass, cancel := context.WithCancel(ctx)
	defer cancel()
	var watch sync.WaitGroup
	watch.Go(func() {
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-pass.Done():
				return
			case <-ticker.C:
			}
			if reason := a.short(); reason != "" {
				a.stop(reason, "stopped putting a heap on huge pages: memory is short", r)
				cancel()
				return
			}
		}
	})
	out, err := c.Pass(pass)
	cancel()
	watch.Wait()
	a.used[r] += out.Bytes
	a.mu.Lock()
	w := a.work[r.Labels]
	a.work[r.Labels] = Work{w.Bytes + out.Bytes, w.Spent + out.Spent}
	a.mu.Unlock()
	if out.Bytes > 0 {
		a.Log.Info("put on huge pages", "namespace", r.Namespace, "pod", r.Pod, "container", r.Container, "pid", r.PID, "bytes", out.Bytes, "grew_by", out.Filled)
	}
	if err != nil && !errors.Is(err, context.Canceled) && !errors.Is(err, collapser.ErrEnded) {
		a.stop(Failed, "cannot put the heap on huge pages: "+err.Error(), r)
	}
}

// short says why memory is short on the node; "" if it is not.
func (a *Actor) short() string {
	if m, err := a.FS.Meminfo(); err == nil && m.MemAvailable != nil && m.MemTotal != nil &&
		float64(*m.MemAvailable) < a.Policy.Available*float64(*m.MemTotal) {
		return Available
	}
	p, ok, err := a.FS.PressureSource(-1).Read() // of the machine
	now := a.Now()
	if err != nil || !ok {
		return "" // a kernel without it
	}
	a.mu.Lock()
	last, since := a.last, now.Sub(a.at)
	a.last, a.at = p, now
	a.mu.Unlock()
	// Over hours it says nothing of now.
	if since <= 0 || since > time.Minute {
		return ""
	}
	if (p.Some - last.Some).Seconds() > a.Policy.Pressure*since.Seconds() {
		return Pressure
	}
	return ""
}

// room reports whether a container may grow by so much.
func (a *Actor) room(r node.Running, fill uint64) bool {
	if a.Cgroups == nil {
		return true
	}
	d, ok := a.Cgroups.Find(r.ID().Container)
	if !ok {
		return fill == 0 // its limit is not known
	}
	u, ok := d.Read()
	if !ok {
		return false
	}
	if u.MemoryLimit == nil || u.Memory == nil {
		return true
	}
	used := float64(*u.Memory + fill)
	if u.PageCache != nil {
		used -= float64(*u.PageCache) / 2 // some of it the kernel takes back
	}
	return used <= (1-a.Policy.Headroom)*float64(*u.MemoryLimit)
}

func (a *Actor) stop(reason, text string, r node.Running) {
	a.mu.Lock()
	a.stops[reason]++
	a.mu.Unlock()
	a.Log.Warn(text, "reason", reason, "namespace", r.Namespace, "pod", r.Pod, "container", r.Container)
}
