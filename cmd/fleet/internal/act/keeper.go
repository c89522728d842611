package act

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"sync"
	"time"

	"github.com/foliomem/folio/cmd/fleet/internal/cgroups"
	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/program/executable"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
	"github.com/foliomem/folio/cmd/internal/program/layout"
	"github.com/foliomem/folio/internal/system/procmem"
)

// A Keeper keeps the settings of processes as the rules say. Its methods are for one goroutine,
// but for Settings.
type Keeper struct {
	Rules    []Rule
	Canary   Canary
	Headroom float64 // share of a container's memory limit that stays free without GOMEMLIMIT
	Spare    float64 // share of the node's memory that stays available
	Node     *node.Node
	Labels   Labeled
	FS       procmem.FS
	Cgroups  *cgroups.Root
	Log      *slog.Logger
	DryRun   bool
	Guard    []string // the command that runs guard.Main for a livegc.Undo
	Now      func() time.Time

	settle  time.Duration // how long a process is left alone at first: it may set its GC
	advices recommendations
	resumed bool
	held    map[node.Running]*held
	refused map[node.Running]*refused
	first   map[node.Running]time.Time
	guard   *guard.Guard[livegc.Undo]
	stale   bool   // the guard holds processes that are let go, or was killed
	wrong   string // the last annotation that was
	gone    int    // processes that ended since the guard started, whose memory it has open

	mu       sync.Mutex
	settings Settings
}

// held is a process with settings of a rule.
type held struct {
	r    node.Running
	p    *livegc.Process
	rule Rule // the zero Rule: those of an agent before
	wanted
	bound uint64 // the container's limit, as it is read quickly
	ended bool
}

// wanted is what a rule changes, and the limit of the container that this was made for; 0 for none.
type wanted struct {
	change livegc.Change
	limit  uint64
}

// refused is a process that did not get its settings.
type refused struct {
	refusal
	r     node.Running
	rule  Rule
	bound uint64
	until time.Time // it is not tried again before, unless rule or bound change
	tries int
}

// How long a refused process is left alone, at first and at most.
const (
	leastPause = time.Minute
	mostPause  = 15 * time.Minute
)

// mostGone is how many processes that ended a guard may have open.
const mostGone = 64

// NewKeeper makes a keeper of the processes that an actor looks at. groups is not that of the
// actor; advices is the directory of recommendations, "" for none.
func NewKeeper(a *Actor, groups *cgroups.Root, advices string, guard []string) *Keeper {
	return &Keeper{
		Rules: a.Policy.Rules, Canary: a.Policy.Canary, Headroom: a.Policy.Headroom, Spare: a.Policy.Available, Node: a.Node, Labels: a.Labels, FS: a.FS, Cgroups: groups, Log: a.Log,
		DryRun: a.DryRun, Guard: guard, Now: time.Now, settle: 10 * time.Second, advices: recommendations{dir: advices},
		held: make(map[node.Running]*held), refused: make(map[node.Running]*refused), first: make(map[node.Running]time.Time),
		settings: Settings{Changes: make(map[string]uint64), Refusals: make(map[string]uint64)},
	}
}

// key is a process, whatever its container is called meanwhile.
func key(r node.Running) node.Running {
	r.Labels = node.Labels{}
	return r
}

// rule returns the rule of a process: that of a lease, or of the policy.
func (k *Keeper) rule(r node.Running) (Rule, bool) {
	id := r.ID()
	if rule, ok := k.lent(id.UID, id.Container, r.Container); ok {
		return rule, true
	}
	for _, rule := range k.Rules {
		v, ok := k.Labels.Label(id.UID, id.Container, rule.Label)
		if ok && v == rule.Value && (rule.Container == "" || rule.Container == r.Container) {
			return rule, true
		}
	}
	return Rule{}, false
}

// Look brings the settings of all processes in line with the rules. A full look also finds
// processes that are new, and measures those that are known.
func (k *Keeper) Look(full bool) {
	if !k.Labels.Synced() {
		return // who opted in is not known
	}
	running := make(map[node.Running]node.Running)
	for _, r := range k.Node.Running() {
		running[key(r)] = r
	}
	if !k.resumed && !k.DryRun {
		k.resume(running)
		k.resumed = true
	}
	if full {
		for _, err := range k.advices.read() {
			k.Log.Warn("a recommendation is left out", "err", err)
		}
	}
	for at, h := range k.held {
		r, here := running[at]
		if here {
			h.r = r
		}
		k.tend(h, here, full)
		if h.ended {
			delete(k.held, at)
		}
	}
	var found []*held
	if full {
		found = k.find(running)
	}
	k.renew(found, full)
	k.publish()
}

// tend looks at a process that has settings of a rule.
func (k *Keeper) tend(h *held, here, full bool) {
	now, kept, err := h.p.Kept()
	switch {
	case errors.Is(err, goruntime.ErrGone), procmem.Gone(err):
		k.end(h)
		k.gone++
		return
	case err != nil:
		return // a setting is seen at the next look
	case !kept:
		k.lose(h, now)
		return
	}
	rule, ok := k.rule(h.r)
	if !here || !ok {
		k.restore(h, "no rule gives it any")
		return
	}
	bound := k.bound(h.r)
	if !full && bound == h.bound && rule == h.rule {
		return
	}
	w, no, err := k.wants(h.p, h.r, rule, h.p.Undo.Before, now, h.limit)
	switch {
	case err != nil:
		if no = k.failed(err); no == nil {
			return // it is ending
		}
	case no != nil:
		no.final = true // until rule or limit change: no to and fro
	case w.change.IsZero():
		_ = k.restore(h, "nothing is recommended")
		return
	}
	if no != nil {
		_ = k.restore(h, no.text)
		k.refuse(h.r, rule, no)
		return
	}
	last := h.p.Undo.After
	if err := h.p.Switch(w.change, k.guard); err != nil {
		if errors.Is(err, goruntime.ErrNotTaken) {
			k.lose(h, now)
			return
		}
		_ = k.restore(h, err.Error())
		k.refuse(h.r, rule, refuse(Failed, "%v", err))
		return
	}
	h.rule, h.wanted, h.bound = rule, w, bound
	if h.p.Undo.After != last {
		k.count(Moved)
		k.say("moved settings", h)
	}
}

// wants works out what a rule changes in a process; kept is the limit of the container that the
// settings in effect were made for.
func (k *Keeper) wants(p *livegc.Process, r node.Running, rule Rule, before, now goruntime.GCSettings, kept uint64) (w wanted, no *refusal, err error) {
	t := &terms{rule: rule, before: before, now: now, kept: kept, headroom: k.Headroom}
	if rule.recommends() {
		var why string
		if t.advised, why = k.advised(r); why != "" {
			return w, refuse(NoAdvice, "%s", why), nil
		}
	}
	if err := k.measure(t, p, r); err != nil {
		return w, nil, err
	}
	if t.fit != nil {
		w.limit = t.fit.Limit
	}
	w.change, no = t.change()
	return w, no, nil
}

// bound is the limit of a container, in bytes; 0 for none.
func (k *Keeper) bound(r node.Running) uint64 {
	if d, ok := k.Cgroups.Find(r.ID().Container); ok {
		if n := d.Bound(); n != nil {
			return *n
		}
	}
	return 0
}

// find takes the processes with a rule that have no settings yet, as far as they can be.
func (k *Keeper) find(running map[node.Running]node.Running) (found []*held) {
	maps.DeleteFunc(k.first, func(at node.Running, _ time.Time) bool { return running[at].PID == 0 })
	maps.DeleteFunc(k.refused, func(at node.Running, x *refused) bool {
		_, ok := k.rule(running[at])
		return running[at].PID == 0 || !ok && x.reason != ByProgram
	})
	now := k.Now()
	for at, r := range running {
		rule, ok := k.rule(r)
		if !ok || k.held[at] != nil {
			continue
		}
		if k.first[at].IsZero() {
			k.first[at] = now
		}
		if now.Sub(k.first[at]) < k.settle {
			continue
		}
		if x := k.refused[at]; x != nil {
			x.r = r
			same := x.rule == rule && x.bound == k.bound(r)
			if x.final && (same || x.reason == ByProgram) || same && now.Before(x.until) {
				continue
			}
		}
		h, no := k.take(r, rule)
		if no != nil {
			k.refuse(r, rule, no)
		}
		if h != nil {
			found = append(found, h)
		}
	}
	return found
}

// take prepares a process for the settings of its rule. It returns neither if there is nothing to
// do.
func (k *Keeper) take(r node.Running, rule Rule) (h *held, no *refusal) {
	p, err := livegc.Open(k.FS, r.PID)
	if err != nil {
		return nil, k.failed(err)
	}
	defer func() {
		if h == nil {
			_ = p.Close()
		}
	}()
	// What was opened is held by a descriptor; that it is the one that was found is asked after
	// that.
	if !k.Node.Same(r) {
		return nil, nil
	}
	s, err := p.State()
	if err != nil {
		return nil, k.failed(err)
	}
	bound := k.bound(r)
	w, no, err := k.wants(p, r, rule, s.GCSettings, s.GCSettings, 0)
	c := w.change
	if err != nil {
		return nil, k.failed(err)
	}
	if no != nil || c.IsZero() {
		return nil, no
	}
	if text, program := s.Foreign(c); text != "" {
		reason := ByOther
		if program {
			reason = ByProgram
		}
		return nil, refuse(reason, "%s", text)
	}
	if k.DryRun {
		a := c.Of(s.GCSettings)
		k.Log.Info("would set", append(k.about(r), "gogc", livegc.GOGC(a.Percent), "gomemlimit", livegc.GOMEMLIMIT(a.Limit))...)
		return nil, &refusal{final: true}
	}
	if err := errors.Join(p.Check(c), p.Hold(), p.Plan(c)); err != nil {
		return nil, k.failed(err)
	}
	return &held{r: r, p: p, rule: rule, wanted: w, bound: bound}, nil
}

// failed is the refusal of an error; nil if the process has ended.
func (k *Keeper) failed(err error) *refusal {
	switch {
	case errors.Is(err, procmem.ErrNoProcess), errors.Is(err, goruntime.ErrGone), procmem.Gone(err), errors.Is(err, executable.ErrNotGo), errors.Is(err, errYoung):
		return nil
	case errors.Is(err, livegc.ErrHeld):
		return refuse(ByOther, "%v", err)
	case errors.Is(err, livegc.ErrNoLimit):
		return refuse(NoLimit, "%v", err)
	case errors.Is(err, os.ErrPermission):
		return refuse(Forbidden, "%v", err)
	case errors.Is(err, layout.ErrUnknown):
		no := refuse(Unsupported, "%v", err)
		no.final = true
		return no
	}
	return refuse(Failed, "%v", err)
}
