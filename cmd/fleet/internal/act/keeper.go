package act

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"slices"
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
	stale   bool // the guard holds processes that are let go, or was killed
	gone    int  // processes that ended since the guard started, whose memory it has open

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
		Rules: a.Policy.Rules, Headroom: a.Policy.Headroom, Spare: a.Policy.Available, Node: a.Node, Labels: a.Labels, FS: a.FS, Cgroups: groups, Log: a.Log,
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

// rule returns the rule of a process.
func (k *Keeper) rule(r node.Running) (Rule, bool) {
	id := r.ID()
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

// resume takes over what an agent before set and did not restore, as when its container was
// killed.
func (k *Keeper) resume(running map[node.Running]node.Running) {
	left := livegc.Left(k.FS)
	for _, pid := range left {
		p, err := livegc.Open(k.FS, pid)
		if err != nil {
			continue // it has ended, or begun another program
		}
		ok := false
		if err = p.Hold(); err == nil {
			ok, err = p.Resume()
		}
		if err != nil {
			k.Log.Warn("cannot take over settings that were set before", "pid", pid, "err", err)
		}
		if !ok {
			_ = p.Close()
			continue
		}
		at := node.Running{}
		for a, r := range running {
			if r.PID == pid {
				at = a
			}
		}
		h := &held{r: running[at], p: p}
		if at.PID == 0 { // nobody knows it
			h.r.PID = pid
			k.restore(h, "it is in no pod")
			continue
		}
		k.held[at] = h
		k.say("took over settings", h)
	}
	if len(k.held) > 0 {
		k.renew(nil, true)
	}
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

// renew sets what was found, once a guard knows it. A guard has the memory of the processes
// that are held when it starts, so one that knows them all takes over from the one before.
func (k *Keeper) renew(found []*held, full bool) {
	k.stale = k.stale || k.gone > mostGone
	if full && k.guard != nil && !k.stale {
		k.stale = k.guard.Drop(livegc.Undo{}) != nil // it was killed
	}
	if len(found) == 0 && !k.stale && (k.guard != nil || len(k.held) == 0) {
		return
	}
	last := k.guard
	k.guard, k.stale, k.gone = nil, false, 0
	if len(k.held)+len(found) > 0 {
		g, err := guard.Start[livegc.Undo](k.Guard)
		for _, h := range k.held {
			if err == nil {
				err = h.p.Keep(g)
			}
		}
		if err != nil {
			k.Log.Error("there is no process that would restore settings if this one is killed: nothing is set", "err", err)
			k.giveUp(found, g, last)
			return
		}
		k.guard = g
	}
	if last != nil {
		for _, h := range k.held {
			_ = last.Drop(h.p.Undo)
		}
		_ = last.Close()
	}
	for _, h := range found {
		if err := livegc.SetAll([]*livegc.Process{h.p}, k.guard); err != nil {
			_ = h.p.Close()
			k.stale = true
			if no := k.failed(err); no != nil {
				if errors.Is(err, goruntime.ErrNotTaken) {
					no = &refusal{ByProgram, err.Error(), true}
				}
				k.refuse(h.r, h.rule, no)
			}
			continue
		}
		at := key(h.r)
		k.held[at] = h
		delete(k.refused, at)
		if h.p.Undo.Before != h.p.Undo.After {
			k.count(Set)
			k.say("set", h)
		}
	}
}

// giveUp restores everything: nobody would after a kill.
func (k *Keeper) giveUp(found []*held, guards ...*guard.Guard[livegc.Undo]) {
	for _, h := range found {
		_ = h.p.Close()
		k.refuse(h.r, h.rule, refuse(Failed, "no guard"))
	}
	for _, h := range k.held {
		k.restore(h, "no guard")
	}
	clear(k.held)
	for _, g := range guards {
		if g != nil {
			_ = g.Close() // it finds what it knows restored
		}
	}
	k.stale = false
}

// restore restores the settings of a process from before.
func (k *Keeper) restore(h *held, why string) error {
	defer k.end(h)
	k.stale = true
	if err := h.p.Restore(k.guard); err != nil {
		k.Log.Error("cannot restore settings", append(k.about(h.r), "err", err)...)
		return err
	}
	if h.p.Undo.Before != h.p.Undo.After {
		k.count(Restored)
		b := h.p.Undo.Before
		k.Log.Info("restored settings", append(k.about(h.r), "gogc", livegc.GOGC(b.Percent), "gomemlimit", livegc.GOMEMLIMIT(b.Limit), "why", why)...)
	}
	return nil
}

// lose leaves a process alone whose program has set its GC itself. What it did not set is
// restored.
func (k *Keeper) lose(h *held, now goruntime.GCSettings) {
	reason, by := ByProgram, "the program "+h.p.Rivals(livegc.Change{Percent: new(int32), Limit: new(int64)})
	if by == "the program " {
		reason, by = ByOther, "another process did: the program cannot"
	}
	no := refuse(reason, "GOGC=%s, GOMEMLIMIT=%s were set since; %s", livegc.GOGC(now.Percent), livegc.GOMEMLIMIT(now.Limit), by)
	no.final = true
	if err := h.p.Restore(k.guard); err != nil {
		k.Log.Error("cannot restore settings", append(k.about(h.r), "err", err)...)
	}
	k.count(Lost)
	k.stale = true
	k.refuse(h.r, h.rule, no)
	k.end(h)
}

// end lets a process go.
func (k *Keeper) end(h *held) {
	if k.guard != nil {
		_ = k.guard.Drop(h.p.Undo)
	}
	_ = h.p.Close()
	h.ended = true
}

// refuse notes why a process does not get its settings, and says so once.
func (k *Keeper) refuse(r node.Running, rule Rule, no *refusal) {
	at := key(r)
	x := k.refused[at]
	if x == nil {
		x = &refused{}
		k.refused[at] = x
	}
	if (x.reason != no.reason || x.rule != rule) && no.reason != "" {
		k.mu.Lock()
		k.settings.Refusals[no.reason]++
		k.mu.Unlock()
		k.Log.Warn("settings are refused", append(k.about(r), "reason", no.reason, "why", no.text)...)
	}
	x.refusal, x.r, x.rule, x.bound = *no, r, rule, k.bound(r)
	x.until = k.Now().Add(min(leastPause<<min(x.tries, 8), mostPause))
	x.tries++
}

// Close restores the settings of all processes.
func (k *Keeper) Close() (err error) {
	for at, h := range k.held {
		err = errors.Join(err, k.restore(h, "the agent ends"))
		delete(k.held, at)
	}
	if k.guard != nil {
		_ = k.guard.Close()
		k.guard = nil
	}
	k.publish()
	return err
}

func (k *Keeper) about(r node.Running) []any {
	return slices.Clip([]any{"namespace", r.Namespace, "pod", r.Pod, "container", r.Container, "pid", r.PID})
}

// say logs what was done to a process.
func (k *Keeper) say(what string, h *held) {
	u := h.p.Undo
	args := append(k.about(h.r), "gogc", livegc.GOGC(u.After.Percent), "gomemlimit", livegc.GOMEMLIMIT(u.After.Limit),
		"gogc_before", livegc.GOGC(u.Before.Percent), "gomemlimit_before", livegc.GOMEMLIMIT(u.Before.Limit))
	if rivals := h.p.Rivals(h.change); rivals != "" {
		args = append(args, "may_change_it", "it "+rivals)
	}
	k.Log.Info(what, args...)
}
