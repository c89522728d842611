package act

import (
	"errors"
	"maps"
	"math"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/fleet/internal/ranking"
	"github.com/foliomem/folio/cmd/fleet/internal/recommend"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/process/memlimit"
	"github.com/foliomem/folio/internal/system/procmem"
)

// errYoung says that a process has ended no GC cycle: what it needs is not known.
var errYoung = errors.New("it has ended no GC cycle")

// measure completes terms by what a process and its container have.
func (k *Keeper) measure(t *terms, p *livegc.Process, r node.Running) error {
	heap, err := p.Heap()
	if err != nil {
		return err
	}
	if heap.Cycles == 0 {
		return errYoung
	}
	status, err := k.FS.Status(r.PID)
	if err != nil {
		return err
	}
	if status.RssAnon == nil || status.VmRSS == nil {
		return procmem.ErrNoProcess // it is ending
	}
	t.own = memlimit.OfState(r.PID, p.Name, heap, *status.RssAnon)
	if m, err := k.FS.Meminfo(); err == nil && m.MemAvailable != nil && m.MemTotal != nil {
		keep := uint64(k.Spare * float64(*m.MemTotal))
		t.spare = *m.MemAvailable - min(*m.MemAvailable, keep)
	}
	d, ok := k.Cgroups.Find(r.ID().Container)
	if !ok {
		return errors.New("the cgroup of its container is not found: its memory limit is not known")
	}
	l, limited, err := d.Limit(k.FS)
	if err != nil || !limited {
		return err
	}
	fit := memlimit.NewContainer(l).Fit(t.own, *status.VmRSS-min(*status.VmRSS, t.own.Resident), memlimit.Others(k.FS, l.Group, r.PID)...)
	t.fit = &fit
	return nil
}

// advised returns what is recommended for the workload of a process. why says why there is
// nothing to go by.
func (k *Keeper) advised(r node.Running) (s recommend.Setting, why string) {
	id := r.ID()
	w, ok := k.Labels.Workload(id.UID, id.Container)
	if !ok {
		return s, "its workload is not known"
	}
	return k.advices.of(ranking.ID{Namespace: r.Namespace, Workload: w.Name, Kind: w.Kind, Container: r.Container}, k.Now())
}

// Settings are what a Keeper set and refused.
type Settings struct {
	Containers map[node.Labels]Given
	Changes    map[string]uint64 // by [Changes]
	Refusals   map[string]uint64 // by [Refusals]
}

// Given is what the processes of a container have now.
type Given struct {
	Processes  int
	GOGC       float64 // the least; +Inf: off; NaN: not set
	GOMEMLIMIT float64 // the least, in bytes; NaN: not set
	Refused    map[string]int
}

// What was done.
const (
	Set      = "set"
	Moved    = "moved"
	Restored = "restored"
	Lost     = "lost" // to the program, which set its GC itself
)

// Changes are all of them.
var Changes = []string{Set, Moved, Restored, Lost}

// Settings returns what was set and refused. It may be called by any goroutine.
func (k *Keeper) Settings() Settings {
	k.mu.Lock()
	defer k.mu.Unlock()
	return Settings{k.settings.Containers, maps.Clone(k.settings.Changes), maps.Clone(k.settings.Refusals)}
}

func (k *Keeper) count(change string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settings.Changes[change]++
}

// publish brings what Settings returns up to date.
func (k *Keeper) publish() {
	now := make(map[node.Labels]Given)
	of := func(l node.Labels) Given {
		if g, ok := now[l]; ok {
			return g
		}
		return Given{GOGC: math.NaN(), GOMEMLIMIT: math.NaN(), Refused: make(map[string]int)}
	}
	least := func(to *float64, v float64) {
		if math.IsNaN(*to) || v < *to {
			*to = v
		}
	}
	for _, h := range k.held {
		g := of(h.r.Labels)
		g.Processes++
		if p := h.change.Percent; p != nil && *p < 0 {
			least(&g.GOGC, math.Inf(1))
		} else if p != nil {
			least(&g.GOGC, float64(*p))
		}
		if n := h.change.Limit; n != nil {
			least(&g.GOMEMLIMIT, float64(*n))
		}
		now[h.r.Labels] = g
	}
	for _, x := range k.refused {
		if _, ok := k.rule(x.r); ok && x.reason != "" {
			g := of(x.r.Labels)
			g.Refused[x.reason]++
			now[x.r.Labels] = g
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.settings.Containers = now
}
