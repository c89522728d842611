package act

import (
	"errors"
	"slices"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

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
