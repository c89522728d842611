package act

import (
	"errors"

	"github.com/foliomem/folio/cmd/fleet/internal/node"
	"github.com/foliomem/folio/cmd/internal/base/guard"
	"github.com/foliomem/folio/cmd/internal/process/livegc"
	"github.com/foliomem/folio/cmd/internal/program/goruntime"
)

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
